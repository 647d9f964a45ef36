//! OpenCode: plugins in its own process, reached through the bridge file that `init` writes.

use dispatch_hook_module::{EventName, HookEvent};
use serde::Serialize;
use serde_json::Value;

use super::fields::Fields;
use super::settle::Outcome;
use super::support::{Abilities, EventSupport, OTHER, Support, row};
use super::{Dialect, ask_holds, empty_object, own_tools};
use crate::answer::Reply;

const EVENTS: &[EventSupport] = &[
    row("session.created", EventName::SessionStart, Abilities::NONE, ""),
    row("chat.message", EventName::UserPromptSubmit, Abilities::CONTEXT, "context is added to the message"),
    row("tool.execute.before", EventName::PreToolUse, Abilities::DENY.and(Abilities::REWRITE), "the bridge throws"),
    row(
        "tool.execute.after",
        EventName::PostToolUse,
        Abilities::CONTEXT.and(Abilities::OUTPUT),
        "context is added to the result",
    ),
    row("experimental.session.compacting", EventName::PreCompact, Abilities::CONTEXT, ""),
    row("session.idle", EventName::Stop, Abilities::NONE, ""),
    row("permission.ask", OTHER, Abilities::DENY.and(Abilities::ASK).and(Abilities::GRANT), ""),
    row("session.deleted", OTHER, Abilities::NONE, ""),
    row("session.compacted", OTHER, Abilities::NONE, ""),
    row("session.error", OTHER, Abilities::NONE, ""),
    row("file.edited", OTHER, Abilities::NONE, ""),
];

pub(super) static DIALECT: Dialect = Dialect {
    support: Support {
        id: "opencode",
        title: "OpenCode",
        aliases: &["open-code"],
        event_keys: &[],
        project_variables: &[],
        events: EVENTS,
        degradation: "Ask becomes a deny before a tool; the permission event can ask. A deny on a \
                      prompt or after a tool becomes context; a halt becomes a deny.",
    },
    go_on: empty_object,
    infer,
    read,
    tool_table: own_tools,
    ask: ask_holds,
    spell,
};

/// What the bridge understands.
#[derive(Debug, Serialize)]
struct BridgeWire<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    decision: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    args: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    context: Option<&'a str>,
}

fn infer(fields: Fields<'_>) -> Option<&str> {
    if let Some(event) = fields.object("event") {
        return event.str("type");
    }
    let output = fields.object("output")?;
    let input = fields.object("input")?;
    let signs = [
        (output.has("args"), "tool.execute.before"),
        (input.has("args") || output.has("title"), "tool.execute.after"),
        (output.has("parts"), "chat.message"),
        (output.has("status"), "permission.ask"),
        (output.has("context"), "experimental.session.compacting"),
    ];
    signs.into_iter().find(|(present, _)| *present).map(|(_, event)| event)
}

fn read(fields: Fields<'_>, event: &mut HookEvent) {
    if let Some(properties) = fields.object("event").and_then(|e| e.object("properties")) {
        read_notice(properties, event);
        return;
    }
    let Some(input) = fields.object("input") else {
        return;
    };
    let output = fields.object("output");
    event.session_id = input.text(&["sessionID"]).or(event.session_id.take());
    event.tool_use_id = input.text(&["callID"]);
    event.tool_name = input.text(&["tool"]);
    match event.host_event.as_str() {
        "tool.execute.before" => {
            event.tool_input = output.map_or(Value::Null, |output| output.structured(&["args"]));
        }
        "tool.execute.after" => {
            event.tool_input = input.structured(&["args"]);
            event.tool_response = fields.value(&["output"]).cloned().unwrap_or_default();
        }
        "permission.ask" => {
            event.tool_name = input.text(&["type", "permission"]);
            event.tool_input = input.structured(&["metadata"]);
            event.tool_use_id = input.text(&["callID"]);
        }
        "chat.message" => {
            event.agent_type = input.text(&["agent"]);
            event.prompt = output.and_then(prompt);
        }
        _ => {}
    }
}

fn read_notice(properties: Fields<'_>, event: &mut HookEvent) {
    let info = properties.object("info");
    event.session_id = properties
        .text(&["sessionID"])
        .or_else(|| info.and_then(|info| info.text(&["id", "sessionID"])))
        .or(event.session_id.take());
    if let Some(directory) = info.and_then(|info| info.text(&["directory"])) {
        event.cwd = Some(directory);
    }
}

fn prompt(output: Fields<'_>) -> Option<String> {
    let parts = output.value(&["parts"])?.as_array()?;
    let texts: Vec<&str> = parts.iter().filter_map(|part| part.get("text")?.as_str()).collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}

fn spell(_: &HookEvent, outcome: &Outcome<'_>) -> Reply {
    let decision = match (&outcome.deny, &outcome.ask, outcome.grant) {
        (Some(_), _, _) => Some("deny"),
        (None, Some(_), _) => Some("ask"),
        (None, None, grant) => grant.map(|_| "grant"),
    };
    Reply::json(&BridgeWire {
        decision,
        reason: outcome.deny.as_deref().or(outcome.ask.as_deref()),
        args: outcome.rewrite,
        output: outcome.output,
        context: outcome.context.as_deref(),
    })
}
