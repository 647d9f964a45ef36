//! The tools of Roo Code.

use super::{Shape, Tool};
use crate::access::Access::{Read, Write};
use crate::access::ToolKind;

pub(super) const TOOLS: &[Tool] = &[
    ("execute_command", ToolKind::Execute, Shape::Command),
    ("run_slash_command", ToolKind::Execute, Shape::Nothing),
    ("write_to_file", ToolKind::Write, Shape::Files(Write)),
    ("apply_diff", ToolKind::Write, Shape::Files(Write)),
    ("edit", ToolKind::Write, Shape::Files(Write)),
    ("search_and_replace", ToolKind::Write, Shape::Files(Write)),
    ("search_replace", ToolKind::Write, Shape::Files(Write)),
    ("edit_file", ToolKind::Write, Shape::Files(Write)),
    ("apply_patch", ToolKind::Write, Shape::Patch),
    ("generate_image", ToolKind::Write, Shape::Files(Write)),
    ("read_file", ToolKind::Read, Shape::Files(Read)),
    ("list_files", ToolKind::Read, Shape::Files(Read)),
    ("read_command_output", ToolKind::Read, Shape::Nothing),
    ("access_mcp_resource", ToolKind::Read, Shape::Nothing),
    ("search_files", ToolKind::Search, Shape::Roots),
    ("codebase_search", ToolKind::Search, Shape::Roots),
    ("new_task", ToolKind::Agent, Shape::Nothing),
    ("ask_followup_question", ToolKind::Other, Shape::Nothing),
    ("attempt_completion", ToolKind::Other, Shape::Nothing),
    ("switch_mode", ToolKind::Other, Shape::Nothing),
    ("update_todo_list", ToolKind::Other, Shape::Nothing),
    ("skill", ToolKind::Other, Shape::Nothing),
    ("use_mcp_tool", ToolKind::Mcp, Shape::Nothing),
];
