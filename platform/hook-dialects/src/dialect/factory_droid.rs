//! Factory Droid: Claude Code's shape of 2025, with fewer events.

use dispatch_hook_module::{EventName, HookEvent};

use super::nested::NestedWire;
use super::settle::Outcome;
use super::support::{Abilities, EventSupport, OTHER, Support, row};
use super::{Dialect, ask_holds, empty_object, infer_nothing, own_tools, read_nothing};
use crate::answer::Reply;

const SAY: Abilities = Abilities::MESSAGE.and(Abilities::HALT);
const BLOCK: Abilities = SAY.and(Abilities::DENY);
const BLOCK_CONTEXT: Abilities = BLOCK.and(Abilities::CONTEXT);
const TOOL: Abilities = BLOCK.and(Abilities::GRANT).and(Abilities::REWRITE);

const EVENTS: &[EventSupport] = &[
    row("SessionStart", EventName::SessionStart, SAY.and(Abilities::CONTEXT), ""),
    row("UserPromptSubmit", EventName::UserPromptSubmit, BLOCK_CONTEXT, ""),
    row("PreToolUse", EventName::PreToolUse, TOOL, "a rewrite is merged into the input"),
    row("PostToolUse", EventName::PostToolUse, BLOCK_CONTEXT, ""),
    row("PreCompact", EventName::PreCompact, SAY, ""),
    row("Stop", EventName::Stop, BLOCK, ""),
    row("SubagentStop", EventName::SubagentStop, BLOCK, ""),
    row("Notification", OTHER, SAY, ""),
    row("SessionEnd", OTHER, SAY, ""),
];

pub(super) static DIALECT: Dialect = Dialect {
    support: Support {
        id: "factory-droid",
        title: "Factory Droid",
        aliases: &["droid", "factory"],
        event_keys: &["hook_event_name", "hookEventName"],
        project_variables: &["FACTORY_PROJECT_DIR"],
        events: EVENTS,
        degradation: "Ask becomes a deny: Droid runs what the model calls low risk, and ends the run otherwise. A failed \
                      command fires no event. Context beside a tool call or a stop joins the refusal's reason, and is \
                      dropped without one. No objection prints `{}`, never `allow`.",
    },
    go_on: empty_object,
    infer: infer_nothing,
    read: read_nothing,
    tool_table: own_tools,
    ask: ask_holds,
    spell,
};

fn spell(event: &HookEvent, outcome: &Outcome<'_>) -> Reply {
    let name = event.host_event.as_str();
    Reply::json(&match event.name {
        EventName::PreToolUse => NestedWire::tool_permission(name, outcome),
        _ => NestedWire::block(name, outcome),
    })
}
