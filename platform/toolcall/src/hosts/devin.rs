//! The tools of Devin CLI and Devin Local.

use super::{Shape, Tool};
use crate::access::Access::{Read, Write};
use crate::access::ToolKind;

pub(super) const TOOLS: &[Tool] = &[
    ("exec", ToolKind::Execute, Shape::Command),
    ("write", ToolKind::Write, Shape::Files(Write)),
    ("edit", ToolKind::Write, Shape::Files(Write)),
    ("apply_patch", ToolKind::Write, Shape::Patch),
    ("notebook_edit", ToolKind::Write, Shape::Files(Write)),
    ("read", ToolKind::Read, Shape::Files(Read)),
    ("grep", ToolKind::Search, Shape::Roots),
    ("glob", ToolKind::Search, Shape::Roots),
    ("webfetch", ToolKind::Fetch, Shape::Urls),
    ("run_subagent", ToolKind::Agent, Shape::Nothing),
];
