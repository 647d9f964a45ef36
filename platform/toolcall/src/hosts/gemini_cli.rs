//! The tools of Gemini CLI.

use super::{Shape, Tool};
use crate::access::Access::{Read, Write};
use crate::access::ToolKind;

pub(super) const TOOLS: &[Tool] = &[
    ("write_file", ToolKind::Write, Shape::Files(Write)),
    ("replace", ToolKind::Write, Shape::Files(Write)),
    ("run_shell_command", ToolKind::Execute, Shape::Command),
    ("read_file", ToolKind::Read, Shape::Files(Read)),
    ("read_many_files", ToolKind::Read, Shape::Files(Read)),
    ("list_directory", ToolKind::Read, Shape::Files(Read)),
    ("read_mcp_resource", ToolKind::Read, Shape::Nothing),
    ("get_internal_docs", ToolKind::Read, Shape::Nothing),
    ("glob", ToolKind::Search, Shape::Roots),
    ("grep_search", ToolKind::Search, Shape::Roots),
    ("search_file_content", ToolKind::Search, Shape::Roots),
    ("google_web_search", ToolKind::Search, Shape::Nothing),
    ("list_mcp_resources", ToolKind::Search, Shape::Nothing),
    ("web_fetch", ToolKind::Fetch, Shape::Urls),
    ("invoke_agent", ToolKind::Agent, Shape::Nothing),
    ("codebase_investigator", ToolKind::Agent, Shape::Nothing),
    ("cli_help", ToolKind::Agent, Shape::Nothing),
    ("ask_user", ToolKind::Other, Shape::Nothing),
    ("write_todos", ToolKind::Other, Shape::Nothing),
    ("save_memory", ToolKind::Other, Shape::Nothing),
    ("activate_skill", ToolKind::Other, Shape::Nothing),
    ("enter_plan_mode", ToolKind::Other, Shape::Nothing),
    ("exit_plan_mode", ToolKind::Other, Shape::Nothing),
    ("update_topic", ToolKind::Other, Shape::Nothing),
    ("complete_task", ToolKind::Other, Shape::Nothing),
];
