//! VS Code Copilot agent mode, both payload generations (`hook_event_name` and `hookEventName`).

use dispatch_hook_module::{EventName, HookEvent};

use super::nested::{DecisionWire, NestedWire, SpecificWire};
use super::settle::Outcome;
use super::support::{Abilities, EventSupport, OTHER, Support, row};
use super::{Dialect, ask_holds, empty_object, infer_nothing, own_tools, read_nothing};
use crate::answer::Reply;

const SAY: Abilities = Abilities::MESSAGE.and(Abilities::HALT);
const BLOCK: Abilities = SAY.and(Abilities::DENY);
const BLOCK_CONTEXT: Abilities = BLOCK.and(Abilities::CONTEXT);
const TOOL: Abilities = BLOCK_CONTEXT.and(Abilities::ASK).and(Abilities::GRANT).and(Abilities::REWRITE);

const EVENTS: &[EventSupport] = &[
    row("SessionStart", EventName::SessionStart, Abilities::CONTEXT, "everything else is ignored"),
    row("UserPromptSubmit", EventName::UserPromptSubmit, BLOCK_CONTEXT, "a block ends the turn"),
    row("PreToolUse", EventName::PreToolUse, TOOL, "a rewrite that breaks the tool's schema is dropped"),
    row("PostToolUse", EventName::PostToolUse, BLOCK_CONTEXT, "only after success"),
    row("PreCompact", EventName::PreCompact, Abilities::NONE, ""),
    row("Stop", EventName::Stop, BLOCK, "the block is read inside `hookSpecificOutput`; sent in both places"),
    row("SubagentStart", EventName::SubagentStart, Abilities::CONTEXT, "everything else is ignored"),
    row("SubagentStop", EventName::SubagentStop, BLOCK, "as Stop"),
    row("SessionEnd", OTHER, Abilities::NONE, "known, not fired"),
    row("ErrorOccurred", OTHER, Abilities::NONE, "known, not fired"),
];

pub(super) static DIALECT: Dialect = Dialect {
    support: Support {
        id: "vscode-copilot",
        title: "VS Code Copilot",
        aliases: &["vscode", "vs-code", "copilot-vscode"],
        event_keys: &["hook_event_name", "hookEventName"],
        project_variables: &[],
        events: EVENTS,
        degradation: "Context at a stop joins the block's reason. Copilot CLI reads the same \
                      registration; its payloads are answered in its own dialect.",
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
    let wire = match event.name {
        EventName::PreToolUse => NestedWire::tool_permission(name, outcome),
        EventName::Stop | EventName::SubagentStop if outcome.deny.is_some() => NestedWire::block(name, outcome)
            .with_specific(SpecificWire {
                hook_event_name: name,
                decision: Some(DecisionWire::Word("block")),
                reason: outcome.deny.as_deref(),
                ..SpecificWire::default()
            }),
        _ => NestedWire::block(name, outcome),
    };
    Reply::json(&wire)
}
