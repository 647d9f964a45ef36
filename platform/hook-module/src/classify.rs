//! Finds out what the tool call of an event does.

use dispatch_toolcall::{ReportedCall, ToolCall};

use crate::event::HookEvent;

/// What the event's tool call does; nothing for an event without a tool.
#[must_use]
pub fn classify(event: &HookEvent, home: Option<&str>) -> Option<ToolCall> {
    let tool = event.tool_name.as_deref()?;
    let cwd = event.cwd.as_deref().unwrap_or_default();
    let call = ReportedCall { host: tool_table(event), tool, input: &event.tool_input, cwd, home };
    Some(if event.mcp_server.is_some() { ToolCall::mcp(&call) } else { ToolCall::classify(&call) })
}

/// One host has two generations of tool names, told apart by how it spells its events.
fn tool_table(event: &HookEvent) -> &str {
    let pascal = event.host_event.starts_with(|first: char| first.is_ascii_uppercase());
    if event.host == "copilot-cli" && pascal { "copilot-cli-pascal" } else { event.host }
}
