//! Devin CLI: Claude Code's envelope without a directory, and `decision: "block"` for everything.

use dispatch_hook_module::{EventName, HookEvent};

use super::nested::NestedWire;
use super::settle::Outcome;
use super::support::{Abilities, EventSupport, OTHER, Support, row};
use super::{Dialect, ask_holds, empty_object, infer_nothing, own_tools, read_nothing};
use crate::answer::Reply;

const EVENTS: &[EventSupport] = &[
    row("SessionStart", EventName::SessionStart, Abilities::CONTEXT, ""),
    row("UserPromptSubmit", EventName::UserPromptSubmit, Abilities::DENY, ""),
    row("PreToolUse", EventName::PreToolUse, Abilities::DENY, ""),
    row("PostToolUse", EventName::PostToolUse, Abilities::DENY, ""),
    row("Stop", EventName::Stop, Abilities::DENY, ""),
    row("PermissionRequest", OTHER, Abilities::DENY, ""),
    row("SessionEnd", OTHER, Abilities::NONE, ""),
    row("PostCompaction", OTHER, Abilities::NONE, ""),
];

pub(super) static DIALECT: Dialect = Dialect {
    support: Support {
        id: "devin",
        title: "Devin CLI",
        aliases: &["devin-cli", "devin-local"],
        event_keys: &["hook_event_name", "hookEventName"],
        project_variables: &["DEVIN_PROJECT_DIR"],
        events: EVENTS,
        degradation: "Ask and halt become a deny. A rewrite is dropped. Context joins the refusal's \
                      reason, except at the start of a session, where it stands alone.",
    },
    go_on: empty_object,
    infer: infer_nothing,
    read: read_nothing,
    tool_table: own_tools,
    ask: ask_holds,
    spell,
};

fn spell(event: &HookEvent, outcome: &Outcome<'_>) -> Reply {
    Reply::json(&NestedWire::block(&event.host_event, outcome))
}
