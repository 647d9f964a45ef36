//! Crush: one event, a versioned reply, and an `allow` that skips the permission prompt.

use dispatch_hook_module::{EventName, HookEvent};
use serde::Serialize;
use serde_json::Value;

use super::settle::Outcome;
use super::support::{Abilities, EventSupport, Support, row};
use super::{Dialect, ask_holds, empty_object, infer_nothing, own_tools, read_nothing};
use crate::answer::Reply;

const EVENTS: &[EventSupport] = &[row(
    "PreToolUse",
    EventName::PreToolUse,
    Abilities::DENY.and(Abilities::GRANT).and(Abilities::REWRITE).and(Abilities::CONTEXT).and(Abilities::HALT),
    "top-level agent only; a rewrite is merged into the input",
)];

pub(super) static DIALECT: Dialect = Dialect {
    support: Support {
        id: "crush",
        title: "Crush",
        aliases: &[],
        event_keys: &["event", "hook_event_name"],
        project_variables: &["CRUSH_PROJECT_DIR"],
        events: EVENTS,
        degradation: "Ask becomes a deny. A halt ends the turn. No objection leaves `decision` out.",
    },
    go_on: empty_object,
    infer: infer_nothing,
    read: read_nothing,
    tool_table: own_tools,
    ask: ask_holds,
    spell,
};

#[derive(Debug, Serialize)]
struct CrushWire<'a> {
    version: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    decision: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    halt: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    context: Option<[&'a str; 1]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    updated_input: Option<&'a Value>,
}

fn spell(_: &HookEvent, outcome: &Outcome<'_>) -> Reply {
    let refused = outcome.deny.as_deref().map(|_| "deny");
    Reply::json(&CrushWire {
        version: 1,
        decision: refused.or(outcome.grant.map(|_| "allow")),
        halt: outcome.halt.map(|_| true),
        reason: outcome.deny.as_deref().or(outcome.halt),
        context: outcome.context.as_deref().map(|text| [text]),
        updated_input: outcome.rewrite,
    })
}
