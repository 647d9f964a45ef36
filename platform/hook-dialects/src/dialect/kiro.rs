//! Kiro, three generations: exit code 2 refuses, plain standard output is context for the model.

use dispatch_hook_module::{EventName, HookEvent};
use serde::Serialize;
use serde_json::{Map, Value};

use super::fields::Fields;
use super::hints::Hints;
use super::settle::Outcome;
use super::support::{Abilities, Channel, EventSupport, OTHER, Support, exit_row, row};
use super::{Dialect, ask_holds, own_tools, read_nothing};
use crate::answer::Reply;

const GATE: Abilities = Abilities::DENY.and(Abilities::CONTEXT);

const EVENTS: &[EventSupport] = &[
    exit_row("SessionStart", EventName::SessionStart, Abilities::CONTEXT, ""),
    exit_row("UserPromptSubmit", EventName::UserPromptSubmit, GATE, ""),
    exit_row("PreToolUse", EventName::PreToolUse, GATE, ""),
    exit_row("PostToolUse", EventName::PostToolUse, Abilities::CONTEXT, ""),
    row("Stop", EventName::Stop, Abilities::DENY, "the block is JSON"),
    exit_row("AgentSpawn", EventName::SessionStart, Abilities::CONTEXT, "same as SessionStart"),
    exit_row("PreTaskExec", OTHER, GATE, ""),
    exit_row("PostTaskExec", OTHER, Abilities::CONTEXT, ""),
    exit_row("SessionEnd", OTHER, Abilities::NONE, ""),
    exit_row("PostFileCreate", OTHER, Abilities::NONE, ""),
    exit_row("PostFileSave", OTHER, Abilities::NONE, ""),
    exit_row("PostFileDelete", OTHER, Abilities::NONE, ""),
    exit_row("Manual", OTHER, Abilities::NONE, ""),
    exit_row("agentSpawn", EventName::SessionStart, Abilities::CONTEXT, "CLI 2.x"),
    exit_row("userPromptSubmit", EventName::UserPromptSubmit, Abilities::CONTEXT, "CLI 2.x"),
    exit_row("preToolUse", EventName::PreToolUse, Abilities::DENY, "CLI 2.x"),
    exit_row("postToolUse", EventName::PostToolUse, Abilities::NONE, "CLI 2.x"),
    row("stop", EventName::Stop, Abilities::DENY, "CLI 2.x; the block is JSON"),
    exit_row("promptSubmit", EventName::UserPromptSubmit, Abilities::NONE, "IDE 0.x"),
    exit_row("agentStop", EventName::Stop, Abilities::NONE, "IDE 0.x"),
    exit_row("fileEdited", OTHER, Abilities::NONE, "IDE 0.x"),
    exit_row("fileCreated", OTHER, Abilities::NONE, "IDE 0.x"),
    exit_row("fileDeleted", OTHER, Abilities::NONE, "IDE 0.x"),
    exit_row("userTriggered", OTHER, Abilities::NONE, "IDE 0.x"),
];

pub(super) static DIALECT: Dialect = Dialect {
    support: Support {
        id: "kiro",
        title: "Kiro",
        aliases: &["kiro-cli", "kiro-ide"],
        event_keys: &["hook_event_name", "hookEventName"],
        project_variables: &[],
        events: EVENTS,
        degradation: "A deny is exit code 2 with its reason on standard error, and a JSON block at a \
                      stop; ask becomes a deny, a rewrite is dropped. Standard output is read as \
                      context, so it is empty when there is none. IDE 0.x sends its payload in the \
                      variable `USER_PROMPT` and leaves standard input open.",
    },
    go_on: nothing,
    infer,
    read: read_nothing,
    tool_table: own_tools,
    ask: ask_holds,
    spell,
};

#[derive(Debug, Serialize)]
struct KiroStopWire<'a> {
    decision: &'static str,
    reason: &'a str,
}

fn nothing(_: &EventName) -> &'static [u8] {
    b""
}

fn infer(fields: Fields<'_>) -> Option<&str> {
    if fields.has("toolResult") || fields.has("toolSuccess") {
        return Some("postToolUse");
    }
    if fields.has("toolName") {
        return Some("preToolUse");
    }
    fields.has("prompt").then_some("promptSubmit")
}

/// The payload of IDE 0.x, which writes nothing to standard input.
pub(super) fn payload_from_environment(flagged: Option<&Dialect>, hints: &Hints) -> Option<Map<String, Value>> {
    if flagged != Some(&DIALECT) {
        return None;
    }
    let text = hints.get("USER_PROMPT")?;
    match serde_json::from_str(text) {
        Ok(Value::Object(payload)) => Some(payload),
        _ => Some(Map::from_iter([("prompt".to_owned(), text.into())])),
    }
}

fn spell(event: &HookEvent, outcome: &Outcome<'_>) -> Reply {
    let channel = DIALECT.support.event(&event.host_event).map_or(Channel::ExitCode, |row| row.channel);
    match (outcome.deny.as_deref(), outcome.context.as_deref()) {
        (Some(reason), _) if channel == Channel::Json => Reply::json(&KiroStopWire { decision: "block", reason }),
        (Some(reason), Some(context)) => Reply::blocked(&format!("{reason}\n\n{context}")),
        (Some(reason), None) => Reply::blocked(reason),
        (None, Some(context)) => Reply::plain(format!("{context}\n").as_bytes()),
        (None, None) => Reply::default(),
    }
}
