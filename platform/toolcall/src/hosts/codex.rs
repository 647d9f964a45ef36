//! The tools of OpenAI Codex CLI.

use super::{Shape, Tool};
use crate::access::Access::Read;
use crate::access::ToolKind;

pub(super) const TOOLS: &[Tool] = &[
    ("Bash", ToolKind::Execute, Shape::Command),
    ("shell", ToolKind::Execute, Shape::Command),
    ("local_shell", ToolKind::Execute, Shape::Command),
    ("exec_command", ToolKind::Execute, Shape::Command),
    ("shell_command", ToolKind::Execute, Shape::Command),
    ("write_stdin", ToolKind::Execute, Shape::Keystrokes),
    ("apply_patch", ToolKind::Write, Shape::Patch),
    ("view_image", ToolKind::Read, Shape::Files(Read)),
    ("list_mcp_resources", ToolKind::Search, Shape::Nothing),
    ("list_mcp_resource_templates", ToolKind::Search, Shape::Nothing),
    ("read_mcp_resource", ToolKind::Read, Shape::Nothing),
    ("spawn_agent", ToolKind::Agent, Shape::Nothing),
    ("wait_agent", ToolKind::Agent, Shape::Nothing),
    ("send_input", ToolKind::Agent, Shape::Nothing),
    ("send_message", ToolKind::Agent, Shape::Nothing),
    ("resume_agent", ToolKind::Agent, Shape::Nothing),
    ("close_agent", ToolKind::Agent, Shape::Nothing),
    ("list_agents", ToolKind::Agent, Shape::Nothing),
    ("interrupt_agent", ToolKind::Agent, Shape::Nothing),
    ("followup_task", ToolKind::Agent, Shape::Nothing),
    ("web_search", ToolKind::Search, Shape::Nothing),
    ("update_plan", ToolKind::Other, Shape::Nothing),
    ("request_user_input", ToolKind::Other, Shape::Nothing),
    ("request_permissions", ToolKind::Other, Shape::Nothing),
    ("multi_tool_use.parallel", ToolKind::Other, Shape::Parallel),
];
