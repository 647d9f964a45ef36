//! The tools of Dispatch's own agent.

use super::{Shape, Tool};
use crate::access::Access::{Read, Write};
use crate::access::ToolKind;

pub(super) const TOOLS: &[Tool] = &[
    ("read_file", ToolKind::Read, Shape::Files(Read)),
    ("write_file", ToolKind::Write, Shape::Files(Write)),
    ("edit_file", ToolKind::Write, Shape::Files(Write)),
    ("apply_patch", ToolKind::Write, Shape::Patch),
    ("list_files", ToolKind::Read, Shape::Files(Read)),
    ("search_files", ToolKind::Search, Shape::Roots),
    ("find_files", ToolKind::Search, Shape::Roots),
    ("run_shell", ToolKind::Execute, Shape::Command),
    ("shell_status", ToolKind::Other, Shape::Nothing),
    ("shell_output", ToolKind::Other, Shape::Nothing),
    ("shell_kill", ToolKind::Other, Shape::Nothing),
    ("todo", ToolKind::Other, Shape::Nothing),
];
