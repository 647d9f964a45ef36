//! The tools of Roo Code.
//!
//! Pure.

use super::{HostTool, InputShape};
use crate::access::Access::{Read, Write};
use crate::access::ToolKind;

pub(super) const TOOLS: &[HostTool] = &[
    ("execute_command", ToolKind::Execute, InputShape::Command),
    ("run_slash_command", ToolKind::Execute, InputShape::Nothing),
    ("write_to_file", ToolKind::Write, InputShape::Files(Write)),
    ("apply_diff", ToolKind::Write, InputShape::Files(Write)),
    ("edit", ToolKind::Write, InputShape::Files(Write)),
    ("search_and_replace", ToolKind::Write, InputShape::Files(Write)),
    ("search_replace", ToolKind::Write, InputShape::Files(Write)),
    ("edit_file", ToolKind::Write, InputShape::Files(Write)),
    ("apply_patch", ToolKind::Write, InputShape::Patch),
    ("generate_image", ToolKind::Write, InputShape::Files(Write)),
    ("read_file", ToolKind::Read, InputShape::Files(Read)),
    ("list_files", ToolKind::Read, InputShape::Files(Read)),
    ("read_command_output", ToolKind::Read, InputShape::Nothing),
    ("access_mcp_resource", ToolKind::Read, InputShape::Nothing),
    ("search_files", ToolKind::Search, InputShape::Roots),
    ("codebase_search", ToolKind::Search, InputShape::Roots),
    ("new_task", ToolKind::Agent, InputShape::Nothing),
    ("ask_followup_question", ToolKind::Other, InputShape::Nothing),
    ("attempt_completion", ToolKind::Other, InputShape::Nothing),
    ("switch_mode", ToolKind::Other, InputShape::Nothing),
    ("update_todo_list", ToolKind::Other, InputShape::Nothing),
    ("skill", ToolKind::Other, InputShape::Nothing),
    ("use_mcp_tool", ToolKind::Mcp, InputShape::Nothing),
];
