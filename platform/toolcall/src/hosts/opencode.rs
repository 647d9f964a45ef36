//! The tools of OpenCode.
//!
//! Pure.

use super::{HostTool, InputShape};
use crate::access::Access::{Read, Write};
use crate::access::ToolKind;

pub(super) const TOOLS: &[HostTool] = &[
    ("bash", ToolKind::Execute, InputShape::Command),
    ("write", ToolKind::Write, InputShape::Files(Write)),
    ("edit", ToolKind::Write, InputShape::Files(Write)),
    ("multiedit", ToolKind::Write, InputShape::Files(Write)),
    ("apply_patch", ToolKind::Write, InputShape::Patch),
    ("patch", ToolKind::Write, InputShape::Patch),
    ("read", ToolKind::Read, InputShape::Files(Read)),
    ("list", ToolKind::Read, InputShape::Files(Read)),
    ("lsp", ToolKind::Read, InputShape::Files(Read)),
    ("glob", ToolKind::Search, InputShape::Roots),
    ("grep", ToolKind::Search, InputShape::Roots),
    ("websearch", ToolKind::Search, InputShape::Nothing),
    ("webfetch", ToolKind::Fetch, InputShape::Urls),
    ("task", ToolKind::Agent, InputShape::Nothing),
    ("todowrite", ToolKind::Other, InputShape::Nothing),
    ("todoread", ToolKind::Other, InputShape::Nothing),
    ("skill", ToolKind::Other, InputShape::Nothing),
    ("question", ToolKind::Other, InputShape::Nothing),
    ("plan_enter", ToolKind::Other, InputShape::Nothing),
    ("plan_exit", ToolKind::Other, InputShape::Nothing),
];
