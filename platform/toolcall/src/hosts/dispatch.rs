//! The tools of Dispatch's own agent.
//!
//! Pure.

use super::{HostTool, InputShape};
use crate::access::Access::{Read, Write};
use crate::access::ToolKind;

pub(super) const TOOLS: &[HostTool] = &[
    ("read_file", ToolKind::Read, InputShape::Files(Read)),
    ("write_file", ToolKind::Write, InputShape::Files(Write)),
    ("edit_file", ToolKind::Write, InputShape::Files(Write)),
    ("apply_patch", ToolKind::Write, InputShape::Patch),
    ("list_files", ToolKind::Read, InputShape::Files(Read)),
    ("search_files", ToolKind::Search, InputShape::Roots),
    ("find_files", ToolKind::Search, InputShape::Roots),
    ("run_shell", ToolKind::Execute, InputShape::Command),
    ("shell_status", ToolKind::Other, InputShape::Nothing),
    ("shell_output", ToolKind::Other, InputShape::Nothing),
    ("shell_kill", ToolKind::Other, InputShape::Nothing),
    ("todo", ToolKind::Other, InputShape::Nothing),
];
