//! The tools of Gemini CLI.
//!
//! Pure.

use super::{HostTool, InputShape};
use crate::access::Access::{Read, Write};
use crate::access::ToolKind;

pub(super) const TOOLS: &[HostTool] = &[
    ("write_file", ToolKind::Write, InputShape::Files(Write)),
    ("replace", ToolKind::Write, InputShape::Files(Write)),
    ("run_shell_command", ToolKind::Execute, InputShape::Command),
    ("read_file", ToolKind::Read, InputShape::Files(Read)),
    ("read_many_files", ToolKind::Read, InputShape::Files(Read)),
    ("list_directory", ToolKind::Read, InputShape::Files(Read)),
    ("read_mcp_resource", ToolKind::Read, InputShape::Nothing),
    ("get_internal_docs", ToolKind::Read, InputShape::Nothing),
    ("glob", ToolKind::Search, InputShape::Roots),
    ("grep_search", ToolKind::Search, InputShape::Roots),
    ("search_file_content", ToolKind::Search, InputShape::Roots),
    ("google_web_search", ToolKind::Search, InputShape::Nothing),
    ("list_mcp_resources", ToolKind::Search, InputShape::Nothing),
    ("web_fetch", ToolKind::Fetch, InputShape::Urls),
    ("invoke_agent", ToolKind::Agent, InputShape::Nothing),
    ("codebase_investigator", ToolKind::Agent, InputShape::Nothing),
    ("cli_help", ToolKind::Agent, InputShape::Nothing),
    ("ask_user", ToolKind::Other, InputShape::Nothing),
    ("write_todos", ToolKind::Other, InputShape::Nothing),
    ("save_memory", ToolKind::Other, InputShape::Nothing),
    ("activate_skill", ToolKind::Other, InputShape::Nothing),
    ("enter_plan_mode", ToolKind::Other, InputShape::Nothing),
    ("exit_plan_mode", ToolKind::Other, InputShape::Nothing),
    ("update_topic", ToolKind::Other, InputShape::Nothing),
    ("complete_task", ToolKind::Other, InputShape::Nothing),
];
