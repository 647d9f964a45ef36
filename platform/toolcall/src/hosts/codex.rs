//! The tools of OpenAI Codex CLI.
//!
//! Pure.

use super::{HostTool, InputShape};
use crate::access::Access::Read;
use crate::access::ToolKind;

pub(super) const TOOLS: &[HostTool] = &[
    ("Bash", ToolKind::Execute, InputShape::Command),
    ("shell", ToolKind::Execute, InputShape::Command),
    ("local_shell", ToolKind::Execute, InputShape::Command),
    ("exec_command", ToolKind::Execute, InputShape::Command),
    ("shell_command", ToolKind::Execute, InputShape::Command),
    ("write_stdin", ToolKind::Execute, InputShape::Keystrokes),
    ("apply_patch", ToolKind::Write, InputShape::Patch),
    ("view_image", ToolKind::Read, InputShape::Files(Read)),
    ("list_mcp_resources", ToolKind::Search, InputShape::Nothing),
    ("list_mcp_resource_templates", ToolKind::Search, InputShape::Nothing),
    ("read_mcp_resource", ToolKind::Read, InputShape::Nothing),
    ("spawn_agent", ToolKind::Agent, InputShape::Nothing),
    ("wait_agent", ToolKind::Agent, InputShape::Nothing),
    ("send_input", ToolKind::Agent, InputShape::Nothing),
    ("send_message", ToolKind::Agent, InputShape::Nothing),
    ("resume_agent", ToolKind::Agent, InputShape::Nothing),
    ("close_agent", ToolKind::Agent, InputShape::Nothing),
    ("list_agents", ToolKind::Agent, InputShape::Nothing),
    ("interrupt_agent", ToolKind::Agent, InputShape::Nothing),
    ("followup_task", ToolKind::Agent, InputShape::Nothing),
    ("web_search", ToolKind::Search, InputShape::Nothing),
    ("update_plan", ToolKind::Other, InputShape::Nothing),
    ("request_user_input", ToolKind::Other, InputShape::Nothing),
    ("request_permissions", ToolKind::Other, InputShape::Nothing),
    ("multi_tool_use.parallel", ToolKind::Other, InputShape::Parallel),
];
