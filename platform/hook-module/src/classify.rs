//! Finds out what the tool call of an event does.
//!
//! Pure.

use dispatch_toolcall::{ReportedCall, ToolCall};

use crate::event::HookEvent;

/// What the event's tool call does; nothing for an event without a tool.
#[must_use]
pub fn classify(event: &HookEvent, home: Option<&str>) -> Option<ToolCall> {
    let tool = event.tool_name.as_deref()?;
    let cwd = event.cwd.as_deref().unwrap_or_default();
    let call = ReportedCall { host: event.tool_host(), tool, input: &event.tool_input, cwd, home };
    Some(if event.mcp_server.is_some() { ToolCall::mcp(&call) } else { ToolCall::classify(&call) })
}
