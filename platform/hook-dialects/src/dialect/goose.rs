//! Goose: a tool call or a stop can be refused, by JSON and by exit code 2 at once.

use dispatch_hook_module::{EventName, HookEvent};
use serde::Serialize;
use serde_json::json;

use super::fields::Fields;
use super::settle::Outcome;
use super::support::{Abilities, EventSupport, OTHER, Support, exit_row, row};
use super::{Dialect, ask_holds, empty_object, infer_nothing, own_tools};
use crate::answer::{Reply, json_line};

const EVENTS: &[EventSupport] = &[
    row("SessionStart", EventName::SessionStart, Abilities::NONE, ""),
    row("UserPromptSubmit", EventName::UserPromptSubmit, Abilities::NONE, ""),
    exit_row("PreToolUse", EventName::PreToolUse, Abilities::DENY, ""),
    row("PostToolUse", EventName::PostToolUse, Abilities::NONE, ""),
    exit_row("Stop", EventName::Stop, Abilities::DENY, "at most 8 blocks in a row; a block's own stop is not marked"),
    row("SubagentStart", EventName::SubagentStart, Abilities::NONE, "known, not fired"),
    row("SubagentStop", EventName::SubagentStop, Abilities::NONE, "known, not fired"),
    row("BeforeReadFile", EventName::PreToolUse, Abilities::NONE, ""),
    row("BeforeShellExecution", EventName::PreToolUse, Abilities::NONE, ""),
    row("AfterFileEdit", EventName::PostToolUse, Abilities::NONE, ""),
    row("AfterShellExecution", EventName::PostToolUse, Abilities::NONE, ""),
    row("PostToolUseFailure", EventName::PostToolUse, Abilities::NONE, ""),
    row("SessionEnd", OTHER, Abilities::NONE, ""),
];

pub(super) static DIALECT: Dialect = Dialect {
    support: Support {
        id: "goose",
        title: "Goose",
        aliases: &["goose-cli"],
        event_keys: &["event", "hook_event_name"],
        project_variables: &[],
        events: EVENTS,
        degradation: "Ask and halt become a deny before a tool; a stop can be refused too. Everything else is observed \
                      only: context, rewrites and other refusals are dropped.",
    },
    go_on: empty_object,
    infer: infer_nothing,
    read,
    tool_table: own_tools,
    ask: ask_holds,
    spell,
};

#[derive(Debug, Serialize)]
struct GooseWire<'a> {
    decision: &'static str,
    reason: &'a str,
}

fn read(fields: Fields<'_>, event: &mut HookEvent) {
    if event.name == EventName::UserPromptSubmit {
        event.prompt = fields.text(&["message", "matcher_context", "prompt"]);
    }
    if event.tool_name.is_some() {
        return;
    }
    // These events name no tool; what they are about is in the matcher's text.
    let Some(subject) = fields.str("matcher_context") else {
        return;
    };
    let (tool, input) = match event.host_event.as_str() {
        "BeforeShellExecution" | "AfterShellExecution" => ("shell", json!({ "command": subject })),
        "BeforeReadFile" => ("developer__text_editor", json!({ "command": "view", "path": subject })),
        "AfterFileEdit" => ("developer__text_editor", json!({ "command": "write", "path": subject })),
        _ => return,
    };
    event.tool_name = Some(tool.to_owned());
    if event.tool_input.is_null() {
        event.tool_input = input;
    }
}

fn spell(_: &HookEvent, outcome: &Outcome<'_>) -> Reply {
    // Goose continues the sentence with ". Do not retry ...".
    match outcome.deny.as_deref().map(|reason| reason.trim_end().trim_end_matches('.')) {
        Some(reason) => Reply { stdout: json_line(&GooseWire { decision: "block", reason }), ..Reply::blocked(reason) },
        None => Reply::plain(b"{}\n"),
    }
}
