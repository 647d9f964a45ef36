//! Our own shapes, for hosts and scripts that speak to Dispatch directly.

use dispatch_hook_module::{EventName, HookEvent};
use serde::Serialize;
use serde_json::Value;

use super::settle::Outcome;
use super::support::{Abilities, EventSupport, Support, row};
use super::{Dialect, ask_holds, infer_nothing, own_tools, read_nothing};
use crate::answer::Reply;

const SAY: Abilities = Abilities::MESSAGE.and(Abilities::HALT).and(Abilities::CONTEXT);
const BLOCK: Abilities = SAY.and(Abilities::DENY);
const TOOL: Abilities = BLOCK.and(Abilities::ASK).and(Abilities::GRANT).and(Abilities::REWRITE);

const EVENTS: &[EventSupport] = &[
    row("SessionStart", EventName::SessionStart, SAY, ""),
    row("UserPromptSubmit", EventName::UserPromptSubmit, BLOCK, ""),
    row("PreToolUse", EventName::PreToolUse, TOOL, ""),
    row("PostToolUse", EventName::PostToolUse, BLOCK.and(Abilities::OUTPUT), ""),
    row("PreCompact", EventName::PreCompact, SAY, ""),
    row("Stop", EventName::Stop, BLOCK, ""),
    row("SubagentStart", EventName::SubagentStart, SAY, ""),
    row("SubagentStop", EventName::SubagentStop, BLOCK, ""),
];

pub(super) static DIALECT: Dialect = Dialect {
    support: Support {
        id: "native",
        title: "Native",
        aliases: &["dispatch"],
        event_keys: &["hook_event_name", "hookEventName", "eventName", "event"],
        project_variables: &[],
        events: EVENTS,
        degradation: "Everything can be expressed. `decision: \"allow\"` means no objection; only \
                      `grant: true` answers a permission prompt.",
    },
    go_on,
    infer: infer_nothing,
    read: read_nothing,
    tool_table: own_tools,
    ask: ask_holds,
    spell,
};

#[derive(Debug, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(super) struct NativeWire<'a> {
    /// No objection, a question to the user, or a refusal.
    #[cfg_attr(any(test, feature = "schema"), schemars(with = "dispatch_hook_module::Decision"))]
    decision: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    grant: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    deny_reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ask_reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    updated_input: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    updated_output: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    additional_context: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    system_message: Option<&'a str>,
    #[serde(rename = "continue", skip_serializing_if = "Option::is_none")]
    go_on: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stop_reason: Option<&'a str>,
}

fn go_on(_: &EventName) -> &'static [u8] {
    b"{\"decision\":\"allow\"}\n"
}

fn spell(_: &HookEvent, outcome: &Outcome<'_>) -> Reply {
    let decision = match (&outcome.deny, &outcome.ask) {
        (Some(_), _) => "deny",
        (None, Some(_)) => "ask",
        (None, None) => "allow",
    };
    Reply::json(&NativeWire {
        decision,
        grant: outcome.grant.map(|_| true),
        deny_reason: outcome.deny.as_deref(),
        ask_reason: outcome.ask.as_deref(),
        updated_input: outcome.rewrite,
        updated_output: outcome.output,
        additional_context: outcome.context.as_deref(),
        system_message: outcome.message,
        go_on: outcome.halt.map(|_| false),
        stop_reason: outcome.halt,
    })
}

/// The JSON Schema of what this dialect writes.
#[cfg(any(test, feature = "schema"))]
#[must_use]
pub fn native_reply_schema() -> schemars::Schema {
    schemars::generate::SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<NativeWire<'static>>()
}
