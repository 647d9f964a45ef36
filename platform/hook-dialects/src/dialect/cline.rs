//! Cline: an object named after the event, `cancel` for a refusal, and an SDK variant beside it.

use dispatch_hook_module::{EventName, HookEvent};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::fields::Fields;
use super::settle::Outcome;
use super::support::{Abilities, EventSupport, OTHER, Support, row};
use super::{Dialect, ask_holds, infer_nothing, own_tools};
use crate::answer::Reply;

const CONTEXT: Abilities = Abilities::CONTEXT.and(Abilities::HALT);
const CANCEL: Abilities = CONTEXT.and(Abilities::DENY);
const SDK_TOOL: Abilities = CANCEL.and(Abilities::REWRITE);

const EVENTS: &[EventSupport] = &[
    row("TaskStart", EventName::SessionStart, CONTEXT, ""),
    row("TaskResume", EventName::SessionStart, CONTEXT, ""),
    row("UserPromptSubmit", EventName::UserPromptSubmit, CANCEL, ""),
    row("PreToolUse", EventName::PreToolUse, CANCEL, "context applies from the next request on"),
    row("PostToolUse", EventName::PostToolUse, CONTEXT, "`cancel` would end the task"),
    row("PreCompact", EventName::PreCompact, CONTEXT, ""),
    row("TaskComplete", EventName::Stop, CONTEXT, ""),
    row("TaskCancel", OTHER, Abilities::NONE, "cannot be cancelled"),
    row("Notification", OTHER, Abilities::NONE, ""),
    row("TaskError", OTHER, Abilities::NONE, ""),
    row("SessionShutdown", OTHER, Abilities::NONE, ""),
    row("agent_start", EventName::SessionStart, CONTEXT, "SDK and CLI"),
    row("agent_resume", EventName::SessionStart, CONTEXT, "SDK and CLI"),
    row("prompt_submit", EventName::UserPromptSubmit, CANCEL, "SDK and CLI"),
    row("tool_call", EventName::PreToolUse, SDK_TOOL, "SDK and CLI"),
    row("tool_result", EventName::PostToolUse, CONTEXT, "SDK and CLI"),
    row("agent_end", EventName::Stop, CONTEXT, "SDK and CLI"),
    row("agent_abort", OTHER, Abilities::NONE, "SDK and CLI"),
    row("agent_error", OTHER, Abilities::NONE, "SDK and CLI"),
    row("session_shutdown", OTHER, Abilities::NONE, "SDK and CLI"),
];

pub(super) static DIALECT: Dialect = Dialect {
    support: Support {
        id: "cline",
        title: "Cline",
        aliases: &[],
        event_keys: &["hookName"],
        project_variables: &[],
        events: EVENTS,
        degradation: "Ask becomes a deny: Cline approves a `review` by itself. In the CLI and the SDK a denied command or \
                      edit is replaced by one that fails and tells the model why. Any other deny before a tool ends the \
                      task (`cancel`), and the model is not told: the reason is for the person, who can say how to go on. A \
                      deny after a tool or at the end of a task becomes context, because `cancel` would end the task. A \
                      rewrite is dropped outside the SDK.",
    },
    go_on,
    infer: infer_nothing,
    read,
    tool_table: own_tools,
    ask: ask_holds,
    spell,
};

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ClineWire<'a> {
    cancel: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    context_modification: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_message: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    override_input: Option<&'a Value>,
}

fn go_on(_: &EventName) -> &'static [u8] {
    b"{\"cancel\":false}\n"
}

fn read(fields: Fields<'_>, event: &mut HookEvent) {
    event.model = fields.object("model").and_then(|model| model.text(&["slug"]));
    let find = |keys: &[&str]| keys.iter().find_map(|key| fields.object(key));
    if let Some(call) = find(&["preToolUse", "postToolUse"]) {
        event.tool_name = call.text(&["toolName"]);
        event.tool_input = call.structured(&["parameters"]);
        if event.tool_name.as_deref() == Some("use_mcp_tool") {
            unwrap_mcp(call, event);
        }
        if event.name == EventName::PostToolUse {
            event.tool_response = result(call);
        }
    }
    if let Some(call) = find(&["tool_call", "tool_result"]) {
        event.tool_name = call.text(&["name", "toolName"]);
        event.tool_use_id = call.text(&["id", "tool_call_id"]);
        event.tool_input = call.structured(&["input"]);
        if event.name == EventName::PostToolUse {
            event.tool_response = call.structured(&["output", "result"]);
            event.error = call.text(&["error"]);
        }
    }
    if let Some(prompt) = find(&["userPromptSubmit", "prompt_submit"]) {
        event.prompt = prompt.text(&["prompt"]);
    }
    if let Some(metadata) = find(&["taskComplete"]).and_then(|task| task.object("taskMetadata")) {
        event.last_message = metadata.text(&["result"]);
    }
}

/// A tool of an MCP server is called through one tool, with its name and its arguments, as JSON text, in the input.
fn unwrap_mcp(call: Fields<'_>, event: &mut HookEvent) {
    let Some(parameters) = call.object("parameters") else {
        return;
    };
    event.mcp_server = parameters.text(&["server_name"]);
    if let Some(name) = parameters.text(&["tool_name"]) {
        event.tool_name = Some(name);
        event.tool_input = parameters.structured(&["arguments"]);
    }
}

/// Fields at their default are left out of the payload, so a missing `success` means failure.
fn result(call: Fields<'_>) -> Value {
    let mut result = Map::new();
    let text = call.value(&["result"]).cloned().unwrap_or_default();
    result.insert("result".to_owned(), text);
    result.insert("success".to_owned(), call.flag(&["success"]).into());
    Value::Object(result)
}

fn spell(event: &HookEvent, outcome: &Outcome<'_>) -> Reply {
    let replaced = outcome.deny.as_deref().filter(|_| outcome.halt.is_none());
    if let Some((reason, input)) = replaced.and_then(|reason| Some((reason, failing_input(event, reason)?))) {
        let context =
            outcome.context.as_deref().map_or_else(|| reason.to_owned(), |more| format!("{reason}\n\n{more}"));
        return Reply::json(&ClineWire {
            cancel: false,
            context_modification: Some(&context),
            error_message: None,
            override_input: Some(&input),
        });
    }
    let refused = outcome.deny.as_deref().or(outcome.halt);
    Reply::json(&ClineWire {
        cancel: refused.is_some(),
        context_modification: outcome.context.as_deref(),
        error_message: refused,
        override_input: outcome.rewrite,
    })
}

/// An input with which the call of the CLI or the SDK does nothing, fails and tells the model why. `cancel` would end the
/// whole task without a word to the model.
fn failing_input(event: &HookEvent, reason: &str) -> Option<Value> {
    if !cfg!(unix) || event.host_event != "tool_call" {
        return None;
    }
    match event.tool_name.as_deref()? {
        "run_commands" => {
            let quoted = reason.replace('\'', r"'\''");
            Some(json!({ "commands": [format!("printf '%s\\n' '{quoted}' >&2; exit 1")] }))
        }
        // Nothing can be written below a device.
        "editor" => Some(json!({ "path": "/dev/null/refused", "new_text": "" })),
        _ => None,
    }
}
