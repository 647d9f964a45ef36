//! The tools of OpenCode.

use super::{Shape, Tool};
use crate::access::Access::{Read, Write};
use crate::access::ToolKind;

pub(super) const TOOLS: &[Tool] = &[
    ("bash", ToolKind::Execute, Shape::Command),
    ("write", ToolKind::Write, Shape::Files(Write)),
    ("edit", ToolKind::Write, Shape::Files(Write)),
    ("multiedit", ToolKind::Write, Shape::Files(Write)),
    ("apply_patch", ToolKind::Write, Shape::Patch),
    ("patch", ToolKind::Write, Shape::Patch),
    ("read", ToolKind::Read, Shape::Files(Read)),
    ("list", ToolKind::Read, Shape::Files(Read)),
    ("lsp", ToolKind::Read, Shape::Files(Read)),
    ("glob", ToolKind::Search, Shape::Roots),
    ("grep", ToolKind::Search, Shape::Roots),
    ("websearch", ToolKind::Search, Shape::Nothing),
    ("webfetch", ToolKind::Fetch, Shape::Urls),
    ("task", ToolKind::Agent, Shape::Nothing),
    ("todowrite", ToolKind::Other, Shape::Nothing),
    ("todoread", ToolKind::Other, Shape::Nothing),
    ("skill", ToolKind::Other, Shape::Nothing),
    ("question", ToolKind::Other, Shape::Nothing),
    ("plan_enter", ToolKind::Other, Shape::Nothing),
    ("plan_exit", ToolKind::Other, Shape::Nothing),
];
