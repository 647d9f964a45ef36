//! OpenAI Codex: strict replies, where one unknown key or a bare `allow` voids the whole answer.

use dispatch_hook_module::{EventName, HookEvent};

use super::fields::Fields;
use super::nested::{Interrupt, NestedWire, SpecificWire};
use super::settle::Outcome;
use super::support::{Abilities, EventSupport, OTHER, Support, row};
use super::{Dialect, ask_holds, empty_object, infer_nothing, own_tools};
use crate::answer::Reply;

const SAY: Abilities = Abilities::MESSAGE.and(Abilities::HALT);
const BLOCK: Abilities = SAY.and(Abilities::DENY);
const BLOCK_CONTEXT: Abilities = BLOCK.and(Abilities::CONTEXT);
const TOOL: Abilities = Abilities::DENY.and(Abilities::REWRITE).and(Abilities::CONTEXT).and(Abilities::MESSAGE);
const PERMISSION: Abilities = Abilities::DENY.and(Abilities::GRANT).and(Abilities::MESSAGE);

const EVENTS: &[EventSupport] = &[
    row("SessionStart", EventName::SessionStart, SAY.and(Abilities::CONTEXT), ""),
    row("UserPromptSubmit", EventName::UserPromptSubmit, BLOCK_CONTEXT, ""),
    row(
        "PreToolUse",
        EventName::PreToolUse,
        TOOL,
        "a rewrite is only accepted beside `allow`, which grants nothing here",
    ),
    row("PostToolUse", EventName::PostToolUse, BLOCK_CONTEXT, ""),
    row("PreCompact", EventName::PreCompact, SAY, ""),
    row("Stop", EventName::Stop, BLOCK, "any `hookSpecificOutput` voids the reply"),
    row("SubagentStart", EventName::SubagentStart, Abilities::CONTEXT.and(Abilities::MESSAGE), ""),
    row("SubagentStop", EventName::SubagentStop, BLOCK, "as Stop"),
    row("PermissionRequest", OTHER, PERMISSION, "no rewrite, no interrupt"),
    row("PostCompact", OTHER, SAY, ""),
    row("SessionEnd", OTHER, Abilities::NONE, "output is ignored"),
    row("Interrupt", OTHER, Abilities::MESSAGE, ""),
    row("StopFailure", OTHER, Abilities::NONE, ""),
    row(TURN_COMPLETE, EventName::Stop, Abilities::NONE, "the older `notify` program, which only observes"),
];

/// The event of the older `notify` program; its payload comes as an argument, in kebab-case.
pub(super) const TURN_COMPLETE: &str = "agent-turn-complete";

pub(super) static DIALECT: Dialect = Dialect {
    support: Support {
        id: "codex",
        title: "OpenAI Codex",
        aliases: &["codex-cli", "openai-codex"],
        event_keys: &["hook_event_name", "hookEventName", "type"],
        project_variables: &[],
        events: EVENTS,
        degradation: "Ask becomes a deny that says so; a halt before a tool becomes a deny. A grant \
                      without a rewrite says nothing.",
    },
    go_on: empty_object,
    infer: infer_nothing,
    read,
    tool_table: own_tools,
    ask: ask_holds,
    spell,
};

fn read(fields: Fields<'_>, event: &mut HookEvent) {
    if event.host_event == TURN_COMPLETE {
        event.session_id = fields.text(&["thread-id", "conversation-id"]);
        event.last_message = fields.text(&["last-assistant-message"]);
        event.prompt = fields.first_text(&["input-messages"]);
    }
}

fn spell(event: &HookEvent, outcome: &Outcome<'_>) -> Reply {
    let name = event.host_event.as_str();
    Reply::json(&match name {
        "PreToolUse" if outcome.rewrite.is_some() => NestedWire::frame(outcome).with_specific(SpecificWire {
            hook_event_name: name,
            permission_decision: Some("allow"),
            updated_input: outcome.rewrite,
            additional_context: outcome.context.as_deref(),
            ..SpecificWire::default()
        }),
        // Codex continues the sentence with ". Command: ...".
        "PreToolUse" => NestedWire::tool_permission(name, outcome).without_full_stop(),
        "PermissionRequest" => NestedWire::permission_request(name, outcome, Interrupt::Unknown),
        _ => NestedWire::block(name, outcome),
    })
}
