//! A tool call, before and after.
//!
//! Pure.

use dispatch_hook_module::digest::sha256_hex;
use dispatch_hook_module::phase::kind_name;
use dispatch_hook_module::{Context, HookAction, RecordType, ToolOutcome, tool_outcome};
use serde_json::{Map, Value, json};

/// Paths of one call that go on record.
const MAX_PATHS: usize = 50;

pub(super) fn before(ctx: &Context<'_>) -> HookAction {
    let paths = ctx.call.map(|call| call.paths.iter().take(MAX_PATHS).collect::<Vec<_>>()).unwrap_or_default();
    let command = ctx.call.and_then(|call| call.command.as_deref());
    let data = json!({
        "tool": ctx.event.tool_name,
        "kind": ctx.call.map(|call| kind_name(call.kind)),
        "paths": paths,
        "commandHash": command.map(|command| sha256_hex(command.as_bytes())),
        "toolUseId": ctx.event.tool_use_id,
    });
    let mut action = HookAction::none().with_record(RecordType::ToolCall, data);
    action.input_metadata = Some(stamps(ctx));
    action
}

fn stamps(ctx: &Context<'_>) -> Map<String, Value> {
    let ids = ctx.ids;
    let artifacts = format!("a/{}", ids.work_id);
    let stamps = [
        ("_hookSessionId", &ids.session_id),
        ("_hookWorkId", &ids.work_id),
        ("_hookAgentId", &ids.agent_id),
        ("_hookRunId", &ids.hook_run_id),
        ("_hookArtifactRoot", &artifacts),
    ];
    stamps.into_iter().map(|(key, value)| (key.to_owned(), value.as_str().into())).collect()
}

pub(super) fn after(ctx: &Context<'_>) -> HookAction {
    let event = ctx.event;
    let output = match &event.tool_response {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let error = match tool_outcome(&event.tool_response, event.error.as_deref()) {
        ToolOutcome::Ok => None,
        ToolOutcome::Failed(class) => Some(class),
    };
    let data = json!({
        "tool": event.tool_name,
        "kind": ctx.call.map(|call| kind_name(call.kind)),
        "ok": error.is_none(),
        "error": error,
        "ms": since_call(ctx),
        "outputBytes": output.len(),
        "outputHash": sha256_hex(output.as_bytes()),
        "toolUseId": event.tool_use_id,
    });
    HookAction::none().with_record(RecordType::ToolResult, data)
}

/// Milliseconds since the call went on record, if it is still in the tail of the log.
fn since_call(ctx: &Context<'_>) -> Option<i64> {
    let id = ctx.event.tool_use_id.as_deref()?;
    let call = ctx.session.newest(&RecordType::ToolCall, id)?;
    let started = dispatch_os::time::parse_rfc3339(&call.ts)?;
    Some((ctx.timers.start_ms - started).max(0))
}
