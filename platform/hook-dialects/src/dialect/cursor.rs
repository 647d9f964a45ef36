//! Cursor: snake_case replies whose keys differ from event to event.

use dispatch_hook_module::{EventName, HookEvent};
use serde::Serialize;
use serde_json::Value;

use super::fields::{Fields, unfold};
use super::read::input_of;
use super::settle::Outcome;
use super::support::{Abilities, EventSupport, OTHER, Support, row};
use super::{AskHandling, Dialect, infer_nothing, own_tools};
use crate::answer::Reply;

const BLOCK: Abilities = Abilities::DENY.and(Abilities::MESSAGE);
const GATE: Abilities = BLOCK.and(Abilities::GRANT);
const ASKING_GATE: Abilities = GATE.and(Abilities::ASK);

const EVENTS: &[EventSupport] = &[
    row("sessionStart", EventName::SessionStart, Abilities::CONTEXT, ""),
    row("beforeSubmitPrompt", EventName::UserPromptSubmit, BLOCK, ""),
    row("preToolUse", EventName::PreToolUse, GATE.and(Abilities::REWRITE), "`ask` is accepted and not enforced"),
    row("postToolUse", EventName::PostToolUse, Abilities::CONTEXT, ""),
    row("preCompact", EventName::PreCompact, Abilities::MESSAGE, ""),
    row("stop", EventName::Stop, Abilities::DENY, "the reason is sent as the next user message"),
    row("subagentStart", EventName::SubagentStart, BLOCK, ""),
    row("subagentStop", EventName::SubagentStop, Abilities::DENY, "only when the subagent completed"),
    row("beforeShellExecution", EventName::PreToolUse, ASKING_GATE, "fires beside preToolUse"),
    row("beforeMCPExecution", EventName::PreToolUse, ASKING_GATE, "fires beside preToolUse"),
    row("beforeReadFile", EventName::PreToolUse, GATE, ""),
    row("beforeTabFileRead", EventName::PreToolUse, Abilities::DENY.and(Abilities::GRANT), "without a reason"),
    row("afterShellExecution", EventName::PostToolUse, Abilities::NONE, ""),
    row("afterMCPExecution", EventName::PostToolUse, Abilities::NONE, ""),
    row("afterFileEdit", EventName::PostToolUse, Abilities::NONE, ""),
    row("afterTabFileEdit", EventName::PostToolUse, Abilities::NONE, ""),
    row("postToolUseFailure", EventName::PostToolUse, Abilities::NONE, ""),
    row("sessionEnd", OTHER, Abilities::NONE, ""),
    row("afterAgentResponse", OTHER, Abilities::NONE, ""),
    row("afterAgentThought", OTHER, Abilities::NONE, ""),
    row("workspaceOpen", OTHER, Abilities::NONE, ""),
];

/// Events that Cursor fires beside preToolUse, about the same call.
pub(super) const SECOND_LOOKS: [&str; 2] = ["beforeShellExecution", "beforeMCPExecution"];

pub(super) static DIALECT: Dialect = Dialect {
    support: Support {
        id: "cursor",
        title: "Cursor",
        aliases: &["cursor-agent"],
        event_keys: &["hook_event_name", "hookEventName"],
        project_variables: &["CURSOR_PROJECT_DIR", "CLAUDE_PROJECT_DIR"],
        events: EVENTS,
        degradation: "Cursor does not enforce an ask at preToolUse: it is a deny there, except for commands and MCP \
                      tools, which beforeShellExecution and beforeMCPExecution ask about. A deny after a tool becomes \
                      context, a halt becomes a deny.",
    },
    go_on,
    infer: infer_nothing,
    read,
    tool_table: own_tools,
    ask,
    spell,
};

#[derive(Debug, Default, Serialize)]
struct CursorWire<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    permission: Option<&'static str>,
    #[serde(rename = "continue", skip_serializing_if = "Option::is_none")]
    go_on: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user_message: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent_message: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    updated_input: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    additional_context: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    followup_message: Option<&'a str>,
}

/// A question about a command or an MCP tool is asked where Cursor enforces it.
fn ask(event: &HookEvent) -> AskHandling {
    let tool = event.tool_name.as_deref().unwrap_or_default();
    let event = match (event.host_event.as_str(), tool) {
        ("preToolUse", "Shell") => SECOND_LOOKS[0],
        ("preToolUse", tool) if tool.starts_with("MCP:") => SECOND_LOOKS[1],
        _ => return AskHandling::Holds,
    };
    AskHandling::AskedAt { event, file: ".cursor/hooks.json" }
}

fn go_on(name: &EventName) -> &'static [u8] {
    match name {
        EventName::UserPromptSubmit => b"{\"continue\":true}\n",
        _ => b"{}\n",
    }
}

fn read(fields: Fields<'_>, event: &mut HookEvent) {
    event.tool_response = unfold(&event.tool_response);
    event.stop_hook_active = event.stop_hook_active || fields.flag(&["loop_count"]);
    match event.host_event.as_str() {
        "beforeShellExecution" => call(event, "Shell", input_of(fields, &["command", "cwd"])),
        "afterShellExecution" => {
            call(event, "Shell", input_of(fields, &["command"]));
            event.tool_response = fields.value(&["output"]).cloned().unwrap_or_default();
        }
        "afterMCPExecution" => event.tool_response = fields.structured(&["result_json"]),
        "beforeReadFile" => call(event, "Read", input_of(fields, &["file_path"])),
        "beforeTabFileRead" => call(event, "TabRead", input_of(fields, &["file_path"])),
        "afterFileEdit" => call(event, "Write", input_of(fields, &["file_path", "edits"])),
        "afterTabFileEdit" => call(event, "TabWrite", input_of(fields, &["file_path", "edits"])),
        _ => {}
    }
}

fn call(event: &mut HookEvent, tool: &str, input: Value) {
    event.tool_name = Some(tool.to_owned());
    event.tool_input = input;
}

fn spell(event: &HookEvent, outcome: &Outcome<'_>) -> Reply {
    let refused = outcome.deny.as_deref();
    let name = event.host_event.as_str();
    let wire = match event.name {
        EventName::UserPromptSubmit => CursorWire {
            go_on: Some(refused.is_none()),
            user_message: outcome.message.or(refused),
            ..CursorWire::default()
        },
        EventName::Stop | EventName::SubagentStop => CursorWire { followup_message: refused, ..CursorWire::default() },
        EventName::PreToolUse | EventName::SubagentStart => gate(name, outcome),
        _ => CursorWire {
            additional_context: outcome.context.as_deref(),
            user_message: outcome.message,
            ..CursorWire::default()
        },
    };
    Reply::json(&wire)
}

fn gate<'a>(host_event: &str, outcome: &'a Outcome<'a>) -> CursorWire<'a> {
    let reason = outcome.deny.as_deref().or(outcome.ask.as_deref());
    let permission = match (&outcome.deny, &outcome.ask, outcome.grant) {
        (Some(_), _, _) => Some("deny"),
        (None, Some(_), _) => Some("ask"),
        (None, None, grant) => grant.map(|_| "allow"),
    };
    let told = match host_event {
        "preToolUse" | "beforeShellExecution" | "beforeMCPExecution" => reason,
        _ => None,
    };
    CursorWire {
        permission,
        user_message: outcome.message.or(reason).filter(|_| host_event != "beforeTabFileRead"),
        agent_message: told,
        updated_input: outcome.rewrite,
        ..CursorWire::default()
    }
}
