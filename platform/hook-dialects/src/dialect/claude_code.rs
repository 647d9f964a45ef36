//! Claude Code: nested replies, every exit code read, a bare `allow` skips the user's prompt.

use dispatch_hook_module::{EventName, HookEvent};

use super::nested::{Interrupt, NestedWire};
use super::settle::Outcome;
use super::support::{Abilities, Channel, EventSupport, OTHER, Support, row};
use super::{Dialect, ask_handling, infer_nothing, own_tools, read_nothing};
use crate::answer::Reply;

const SAY: Abilities = Abilities::MESSAGE.and(Abilities::HALT);
const CONTEXT: Abilities = SAY.and(Abilities::CONTEXT);
const BLOCK: Abilities = SAY.and(Abilities::DENY);
const BLOCK_CONTEXT: Abilities = BLOCK.and(Abilities::CONTEXT);
const TOOL: Abilities = BLOCK_CONTEXT.and(Abilities::ASK).and(Abilities::GRANT).and(Abilities::REWRITE);
const PERMISSION: Abilities =
    Abilities::DENY.and(Abilities::GRANT).and(Abilities::REWRITE).and(Abilities::HALT).and(Abilities::MESSAGE);

const EVENTS: &[EventSupport] = &[
    row("SessionStart", EventName::SessionStart, CONTEXT, ""),
    row("UserPromptSubmit", EventName::UserPromptSubmit, BLOCK_CONTEXT, ""),
    row("PreToolUse", EventName::PreToolUse, TOOL, "`updatedInput` replaces the whole input"),
    row(
        "PostToolUse",
        EventName::PostToolUse,
        BLOCK_CONTEXT.and(Abilities::OUTPUT),
        "a block is feedback; the tool already ran",
    ),
    row("PreCompact", EventName::PreCompact, BLOCK, ""),
    row("Stop", EventName::Stop, BLOCK_CONTEXT, "context also keeps the agent going; at most 8 blocks in a row"),
    row("SubagentStart", EventName::SubagentStart, CONTEXT, ""),
    row("SubagentStop", EventName::SubagentStop, BLOCK_CONTEXT, ""),
    row("PermissionRequest", OTHER, PERMISSION, "a rewrite needs a grant"),
    row("PermissionDenied", OTHER, Abilities::NONE, ""),
    row("PostToolUseFailure", EventName::PostToolUse, BLOCK_CONTEXT, ""),
    row("PostToolBatch", OTHER, BLOCK_CONTEXT, ""),
    row("UserPromptExpansion", OTHER, BLOCK_CONTEXT, ""),
    row("Setup", OTHER, CONTEXT, ""),
    row("ConfigChange", OTHER, BLOCK, "not for policy settings"),
    row("TaskCreated", OTHER, BLOCK, ""),
    row("TaskCompleted", OTHER, SAY, ""),
    row("TeammateIdle", OTHER, SAY, ""),
    row("SessionEnd", OTHER, Abilities::NONE, ""),
    row("Notification", OTHER, Abilities::NONE, ""),
    row("StopFailure", OTHER, Abilities::NONE, ""),
    row("PostCompact", OTHER, Abilities::NONE, ""),
    row("CwdChanged", OTHER, Abilities::NONE, ""),
    row("DirectoryAdded", OTHER, Abilities::NONE, ""),
    row("FileChanged", OTHER, Abilities::NONE, ""),
    row("InstructionsLoaded", OTHER, Abilities::NONE, ""),
    row("Elicitation", OTHER, Abilities::NONE, ""),
    row("ElicitationResult", OTHER, Abilities::NONE, ""),
    row("MessageDisplay", OTHER, Abilities::NONE, ""),
    row("PreModelSwitch", OTHER, Abilities::NONE, ""),
    row("PostModelSwitch", OTHER, Abilities::NONE, ""),
    row("WorktreeRemove", OTHER, Abilities::NONE, ""),
    EventSupport {
        host_event: WORKTREE_CREATE,
        name: OTHER,
        abilities: Abilities::NONE,
        channel: Channel::Silent,
        note: "standard output would be taken for the worktree's path",
    },
];

const WORKTREE_CREATE: &str = "WorktreeCreate";

pub(super) static DIALECT: Dialect = Dialect {
    support: Support {
        id: "claude-code",
        title: "Claude Code",
        aliases: &["claude"],
        event_keys: &["hook_event_name", "hookEventName"],
        project_variables: &["CLAUDE_PROJECT_DIR"],
        events: EVENTS,
        degradation: "Everything can be expressed. No objection prints `{}`, never `allow`.",
    },
    go_on,
    infer: infer_nothing,
    read: read_nothing,
    tool_table: own_tools,
    ask: ask_handling::claude_code,
    spell,
};

fn go_on(name: &EventName) -> &'static [u8] {
    match name {
        EventName::Other(name) if name == WORKTREE_CREATE => b"",
        _ => b"{}\n",
    }
}

fn spell(event: &HookEvent, outcome: &Outcome<'_>) -> Reply {
    let name = event.host_event.as_str();
    Reply::json(&match name {
        "PreToolUse" => NestedWire::tool_permission(name, outcome),
        "PermissionRequest" => NestedWire::permission_request(name, outcome, Interrupt::Allowed),
        _ => NestedWire::block(name, outcome),
    })
}
