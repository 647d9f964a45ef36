//! The tools of Cline, both of the extension and of its SDK.
//!
//! Pure.

use super::{HostTool, InputShape};
use crate::access::Access::{Read, Write};
use crate::access::ToolKind;

pub(super) const TOOLS: &[HostTool] = &[
    ("write_to_file", ToolKind::Write, InputShape::Files(Write)),
    ("replace_in_file", ToolKind::Write, InputShape::Files(Write)),
    ("apply_patch", ToolKind::Write, InputShape::Patch),
    ("editor", ToolKind::Write, InputShape::Editor),
    ("new_rule", ToolKind::Write, InputShape::Files(Write)),
    ("execute_command", ToolKind::Execute, InputShape::Command),
    ("run_commands", ToolKind::Execute, InputShape::Command),
    ("read_file", ToolKind::Read, InputShape::Files(Read)),
    ("read_files", ToolKind::Read, InputShape::Files(Read)),
    ("list_files", ToolKind::Read, InputShape::Files(Read)),
    ("list_code_definition_names", ToolKind::Read, InputShape::Files(Read)),
    ("access_mcp_resource", ToolKind::Read, InputShape::Nothing),
    ("load_mcp_documentation", ToolKind::Read, InputShape::Nothing),
    ("search_files", ToolKind::Search, InputShape::Roots),
    ("web_search", ToolKind::Search, InputShape::Nothing),
    ("web_fetch", ToolKind::Fetch, InputShape::Urls),
    ("browser_action", ToolKind::Fetch, InputShape::Urls),
    ("use_subagents", ToolKind::Agent, InputShape::Nothing),
    ("new_task", ToolKind::Agent, InputShape::Nothing),
    ("attempt_completion", ToolKind::Other, InputShape::Nothing),
    ("ask_followup_question", ToolKind::Other, InputShape::Nothing),
    ("plan_mode_respond", ToolKind::Other, InputShape::Nothing),
    ("act_mode_respond", ToolKind::Other, InputShape::Nothing),
    ("focus_chain", ToolKind::Other, InputShape::Nothing),
    ("condense", ToolKind::Other, InputShape::Nothing),
    ("summarize_task", ToolKind::Other, InputShape::Nothing),
    ("report_bug", ToolKind::Other, InputShape::Nothing),
    ("use_skill", ToolKind::Other, InputShape::Nothing),
    ("use_mcp_tool", ToolKind::Mcp, InputShape::Nothing),
];
