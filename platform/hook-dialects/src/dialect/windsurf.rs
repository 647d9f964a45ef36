//! Windsurf Cascade: the event is the tool, and exit code 2 is the only thing it listens to.

use dispatch_hook_module::{EventName, HookEvent};
use serde_json::Value;

use super::fields::Fields;
use super::settle::Outcome;
use super::support::{Abilities, EventSupport, OTHER, Support, exit_row};
use super::{Dialect, ask_holds, infer_nothing, own_tools};
use crate::answer::Reply;

const EVENTS: &[EventSupport] = &[
    exit_row("pre_user_prompt", EventName::UserPromptSubmit, Abilities::DENY, ""),
    exit_row("pre_read_code", EventName::PreToolUse, Abilities::DENY, ""),
    exit_row("pre_write_code", EventName::PreToolUse, Abilities::DENY, ""),
    exit_row("pre_run_command", EventName::PreToolUse, Abilities::DENY, ""),
    exit_row("pre_mcp_tool_use", EventName::PreToolUse, Abilities::DENY, ""),
    exit_row("post_read_code", EventName::PostToolUse, Abilities::NONE, ""),
    exit_row("post_write_code", EventName::PostToolUse, Abilities::NONE, ""),
    exit_row("post_run_command", EventName::PostToolUse, Abilities::NONE, ""),
    exit_row("post_mcp_tool_use", EventName::PostToolUse, Abilities::NONE, ""),
    exit_row("post_cascade_response", EventName::Stop, Abilities::NONE, "asynchronous"),
    exit_row("post_cascade_response_with_transcript", EventName::Stop, Abilities::NONE, "asynchronous"),
    exit_row("post_setup_worktree", OTHER, Abilities::NONE, ""),
];

pub(super) static DIALECT: Dialect = Dialect {
    support: Support {
        id: "windsurf",
        title: "Windsurf Cascade",
        aliases: &["cascade", "devin-desktop"],
        event_keys: &["agent_action_name"],
        project_variables: &[],
        events: EVENTS,
        degradation: "A deny is exit code 2 with its reason on standard error, before an action or a \
                      prompt; ask becomes a deny. Context, rewrites and messages are dropped. \
                      Standard output stays empty.",
    },
    go_on: nothing,
    infer: infer_nothing,
    read,
    tool_table: own_tools,
    ask: ask_holds,
    spell,
};

fn nothing(_: &EventName) -> &'static [u8] {
    b""
}

fn read(fields: Fields<'_>, event: &mut HookEvent) {
    let Some(info) = fields.object("tool_info") else {
        return;
    };
    let action = event.host_event.as_str();
    if let Some(directory) = info.text(&["cwd"]) {
        event.cwd = Some(directory);
    }
    if action.ends_with("mcp_tool_use") {
        event.tool_name = info.text(&["mcp_tool_name"]);
        event.mcp_server = info.text(&["mcp_server_name"]);
        event.tool_input = info.structured(&["mcp_tool_arguments"]);
        event.tool_response = info.structured(&["mcp_result"]);
    } else if matches!(event.name, EventName::PreToolUse | EventName::PostToolUse) {
        let tool = action.trim_start_matches("pre_").trim_start_matches("post_");
        event.tool_name = Some(tool.to_owned());
        event.tool_input = fields.value(&["tool_info"]).cloned().unwrap_or(Value::Null);
    }
    event.prompt = info.text(&["user_prompt"]);
    event.last_message = info.text(&["response"]);
    event.transcript_path = info.text(&["transcript_path"]);
}

fn spell(_: &HookEvent, outcome: &Outcome<'_>) -> Reply {
    match outcome.deny.as_deref() {
        Some(reason) => Reply::blocked(reason),
        None => Reply::default(),
    }
}
