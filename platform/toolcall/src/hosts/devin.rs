//! The tools of Devin CLI and Devin Local.
//!
//! Pure.

use super::{HostTool, InputShape};
use crate::access::Access::{Read, Write};
use crate::access::ToolKind;

pub(super) const TOOLS: &[HostTool] = &[
    ("exec", ToolKind::Execute, InputShape::Command),
    ("write", ToolKind::Write, InputShape::Files(Write)),
    ("edit", ToolKind::Write, InputShape::Files(Write)),
    ("apply_patch", ToolKind::Write, InputShape::Patch),
    ("notebook_edit", ToolKind::Write, InputShape::Files(Write)),
    ("read", ToolKind::Read, InputShape::Files(Read)),
    ("grep", ToolKind::Search, InputShape::Roots),
    ("glob", ToolKind::Search, InputShape::Roots),
    ("webfetch", ToolKind::Fetch, InputShape::Urls),
    ("run_subagent", ToolKind::Agent, InputShape::Nothing),
];
