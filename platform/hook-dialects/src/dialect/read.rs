//! Reads the fields that hosts share, in every spelling they use for them.

use dispatch_hook_module::HookEvent;
use serde_json::Value;

use super::fields::Fields;
use super::hints::Hints;

/// Fills `event` from the envelope.
pub(crate) fn shared(fields: Fields<'_>, event: &mut HookEvent) {
    event.session_id = fields.text(&[
        "session_id",
        "sessionId",
        "conversation_id",
        "conversationId",
        "trajectory_id",
        "taskId",
        "sessionID",
    ]);
    event.transcript_path = fields.text(&["transcript_path", "transcriptPath"]);
    event.cwd = cwd(fields);
    event.tool_name = fields.text(&["tool_name", "toolName"]);
    event.tool_input = fields.structured(&["tool_input", "toolInput", "toolArgs", "tool_args"]);
    event.tool_use_id = fields.text(&["tool_use_id", "toolUseId", "tool_call_id", "toolCallId"]);
    event.tool_response = fields
        .value(&["tool_response", "toolResponse", "tool_result", "toolResult", "tool_output", "toolOutput"])
        .cloned()
        .unwrap_or_default();
    event.error = error(fields).or_else(|| failure(event));
    event.prompt = fields.text(&["prompt"]);
    event.stop_hook_active = fields.flag(&["stop_hook_active", "stopHookActive"]);
    event.agent_id = fields.text(&["agent_id", "agentId", "subagent_id"]);
    event.agent_type = fields.text(&["agent_type", "agentType", "subagent_type", "agent_name", "agentName"]);
    event.permission_mode = fields.text(&["permission_mode", "permissionMode"]);
    event.source = fields.text(&["source", "trigger", "reason"]);
    event.model = fields.text(&["model", "model_name"]);
    event.last_message = fields.text(&[
        "last_assistant_message",
        "lastAssistantMessage",
        "assistant_response",
        "prompt_response",
        "response",
    ]);
    event.timestamp = fields.text(&["timestamp"]);
    event.mcp_server = fields
        .text(&["mcp_server_name"])
        .or_else(|| fields.object("mcp_context").and_then(|context| context.text(&["server_name"])))
        .or_else(|| fields.object("mcp_server").and_then(|server| server.text(&["name"])));
}

/// The directory from outside the payload: the host's variables, then the process.
pub(crate) fn outer_cwd(variables: &[&str], hints: &Hints) -> Option<String> {
    variables.iter().find_map(|name| hints.get(name)).or_else(|| hints.process_cwd()).map(ToOwned::to_owned)
}

fn cwd(fields: Fields<'_>) -> Option<String> {
    fields
        .text(&["cwd"])
        .or_else(|| fields.first_text(&["workspace_roots", "workspaceRoots"]))
        .or_else(|| fields.text(&["working_dir", "workingDir"]))
        .map(without_drive_slash)
}

/// `/c:/dir` as some Windows builds write it is `c:/dir`.
fn without_drive_slash(path: String) -> String {
    match path.as_bytes() {
        [b'/', drive, b':', ..] if drive.is_ascii_alphabetic() => path[1..].to_owned(),
        _ => path,
    }
}

/// An event for failures alone may leave out what failed.
fn failure(event: &HookEvent) -> Option<String> {
    dispatch_hook_module::same_name(&event.host_event, "PostToolUseFailure").then(|| "failed".to_owned())
}

fn error(fields: Fields<'_>) -> Option<String> {
    fields.text(&["error", "error_message"]).or_else(|| {
        let error = fields.object("error")?;
        error.text(&["message", "name"])
    })
}

/// A tool input made of some of a payload's own fields.
pub(crate) fn input_of(fields: Fields<'_>, keys: &[&str]) -> Value {
    keys.iter()
        .filter_map(|key| Some(((*key).to_owned(), fields.value(&[key])?.clone())))
        .collect::<serde_json::Map<_, _>>()
        .into()
}
