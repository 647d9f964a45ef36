//! Qwen Code: Claude Code's events and replies, Gemini CLI's tools.

use dispatch_hook_module::{EventName, HookEvent};

use super::fields::Fields;
use super::nested::{Interrupt, NestedWire};
use super::settle::Outcome;
use super::support::{Abilities, EventSupport, OTHER, Support, row};
use super::{AskHandling, Dialect, empty_object, infer_nothing};
use crate::answer::Reply;

const SAY: Abilities = Abilities::MESSAGE.and(Abilities::HALT);
const CONTEXT: Abilities = SAY.and(Abilities::CONTEXT);
const BLOCK: Abilities = SAY.and(Abilities::DENY);
const BLOCK_CONTEXT: Abilities = BLOCK.and(Abilities::CONTEXT);
const TOOL: Abilities = BLOCK_CONTEXT.and(Abilities::ASK).and(Abilities::GRANT).and(Abilities::REWRITE);
const PERMISSION: Abilities = Abilities::DENY.and(Abilities::GRANT).and(Abilities::MESSAGE);

const EVENTS: &[EventSupport] = &[
    row("SessionStart", EventName::SessionStart, CONTEXT, ""),
    row("UserPromptSubmit", EventName::UserPromptSubmit, BLOCK_CONTEXT, ""),
    row("PreToolUse", EventName::PreToolUse, TOOL, ""),
    row("PostToolUse", EventName::PostToolUse, BLOCK_CONTEXT, ""),
    row("PostToolUseFailure", EventName::PostToolUse, CONTEXT, ""),
    row("PreCompact", EventName::PreCompact, CONTEXT, ""),
    row("Stop", EventName::Stop, BLOCK, ""),
    row("SubagentStart", EventName::SubagentStart, CONTEXT, ""),
    row("SubagentStop", EventName::SubagentStop, BLOCK, ""),
    row("PermissionRequest", OTHER, PERMISSION, ""),
    row("SessionEnd", OTHER, Abilities::NONE, ""),
    row("Notification", OTHER, Abilities::NONE, ""),
];

pub(super) static DIALECT: Dialect = Dialect {
    support: Support {
        id: "qwen-code",
        title: "Qwen Code",
        aliases: &["qwen"],
        event_keys: &["hook_event_name", "hookEventName"],
        project_variables: &["QWEN_PROJECT_DIR", "GEMINI_PROJECT_DIR"],
        events: EVENTS,
        degradation: "An ask needs a person at the terminal, else it is a deny. Without a terminal no session starts, and \
                      UserPromptSubmit fires before each request to the model: only the one with a prompt counts as \
                      one. No objection prints `{}`, never `allow`.",
    },
    go_on: empty_object,
    infer: infer_nothing,
    read,
    tool_table: gemini_tools,
    ask,
    spell,
};

/// What goes to the model after a tool call is not a prompt of the user.
fn read(_: Fields<'_>, event: &mut HookEvent) {
    if event.name == EventName::UserPromptSubmit && event.prompt.as_deref().is_none_or(str::is_empty) {
        event.name = EventName::Other("ModelRequest".to_owned());
    }
}

fn gemini_tools(_: &str) -> Option<&'static str> {
    Some("gemini-cli")
}

fn ask(_: &HookEvent) -> AskHandling {
    AskHandling::NeedsTerminal { program: "qwen", headless: &["-p", "--prompt", "-y", "--yolo", "--approval-mode"] }
}

fn spell(event: &HookEvent, outcome: &Outcome<'_>) -> Reply {
    let name = event.host_event.as_str();
    Reply::json(&match name {
        "PreToolUse" => NestedWire::tool_permission(name, outcome),
        "PermissionRequest" => NestedWire::permission_request(name, outcome, Interrupt::Unknown),
        _ => NestedWire::block(name, outcome),
    })
}
