//! The tools of Cline, both of the extension and of its SDK.

use super::{Shape, Tool};
use crate::access::Access::{Read, Write};
use crate::access::ToolKind;

pub(super) const TOOLS: &[Tool] = &[
    ("write_to_file", ToolKind::Write, Shape::Files(Write)),
    ("replace_in_file", ToolKind::Write, Shape::Files(Write)),
    ("apply_patch", ToolKind::Write, Shape::Patch),
    ("editor", ToolKind::Write, Shape::Editor),
    ("new_rule", ToolKind::Write, Shape::Files(Write)),
    ("execute_command", ToolKind::Execute, Shape::Command),
    ("run_commands", ToolKind::Execute, Shape::Command),
    ("read_file", ToolKind::Read, Shape::Files(Read)),
    ("read_files", ToolKind::Read, Shape::Files(Read)),
    ("list_files", ToolKind::Read, Shape::Files(Read)),
    ("list_code_definition_names", ToolKind::Read, Shape::Files(Read)),
    ("access_mcp_resource", ToolKind::Read, Shape::Nothing),
    ("load_mcp_documentation", ToolKind::Read, Shape::Nothing),
    ("search_files", ToolKind::Search, Shape::Roots),
    ("web_search", ToolKind::Search, Shape::Nothing),
    ("web_fetch", ToolKind::Fetch, Shape::Urls),
    ("browser_action", ToolKind::Fetch, Shape::Urls),
    ("use_subagents", ToolKind::Agent, Shape::Nothing),
    ("new_task", ToolKind::Agent, Shape::Nothing),
    ("attempt_completion", ToolKind::Other, Shape::Nothing),
    ("ask_followup_question", ToolKind::Other, Shape::Nothing),
    ("plan_mode_respond", ToolKind::Other, Shape::Nothing),
    ("act_mode_respond", ToolKind::Other, Shape::Nothing),
    ("focus_chain", ToolKind::Other, Shape::Nothing),
    ("condense", ToolKind::Other, Shape::Nothing),
    ("summarize_task", ToolKind::Other, Shape::Nothing),
    ("report_bug", ToolKind::Other, Shape::Nothing),
    ("use_skill", ToolKind::Other, Shape::Nothing),
    ("use_mcp_tool", ToolKind::Mcp, Shape::Nothing),
];
