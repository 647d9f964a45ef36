//! Gemini CLI: top-level decisions, event names of its own, JSON read at every exit code.

use dispatch_hook_module::{EventName, HookEvent};
use serde::Serialize;
use serde_json::Value;

use super::settle::Outcome;
use super::support::{Abilities, EventSupport, OTHER, Support, row};
use super::{Dialect, ask_handling, empty_object, infer_nothing, own_tools, read_nothing};
use crate::answer::Reply;

const SAY: Abilities = Abilities::MESSAGE.and(Abilities::HALT);
const BLOCK: Abilities = SAY.and(Abilities::DENY);
const BLOCK_CONTEXT: Abilities = BLOCK.and(Abilities::CONTEXT);
const TOOL: Abilities = BLOCK.and(Abilities::ASK).and(Abilities::GRANT).and(Abilities::REWRITE);

const EVENTS: &[EventSupport] = &[
    row("SessionStart", EventName::SessionStart, Abilities::CONTEXT.and(Abilities::MESSAGE), ""),
    row("BeforeAgent", EventName::UserPromptSubmit, BLOCK_CONTEXT, "a deny drops the prompt"),
    row("BeforeTool", EventName::PreToolUse, TOOL, "the call is rebuilt from the rewritten input"),
    row("AfterTool", EventName::PostToolUse, BLOCK_CONTEXT, "a deny replaces the result by its reason"),
    row("PreCompress", EventName::PreCompact, Abilities::MESSAGE, ""),
    row("AfterAgent", EventName::Stop, BLOCK, "the reason becomes a new prompt"),
    row("SessionEnd", OTHER, Abilities::MESSAGE, ""),
    row("Notification", OTHER, Abilities::MESSAGE, ""),
    row("BeforeModel", OTHER, Abilities::HALT, ""),
    row("AfterModel", OTHER, Abilities::HALT, ""),
    row("BeforeToolSelection", OTHER, Abilities::NONE, ""),
];

pub(super) static DIALECT: Dialect = Dialect {
    support: Support {
        id: "gemini-cli",
        title: "Gemini CLI",
        aliases: &["gemini"],
        event_keys: &["hook_event_name", "hookEventName"],
        project_variables: &["GEMINI_PROJECT_DIR", "CLAUDE_PROJECT_DIR"],
        events: EVENTS,
        degradation: "Context beside a tool call or at a stop joins the refusal's reason, and is \
                      dropped without one. There are no subagent events.",
    },
    go_on: empty_object,
    infer: infer_nothing,
    read: read_nothing,
    tool_table: own_tools,
    ask: |_| ask_handling::GEMINI,
    spell,
};

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct GeminiWire<'a> {
    #[serde(rename = "continue", skip_serializing_if = "Option::is_none")]
    go_on: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stop_reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    decision: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    system_message: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hook_specific_output: Option<GeminiSpecificWire<'a>>,
}

#[derive(Debug, Serialize)]
struct GeminiSpecificWire<'a> {
    #[serde(rename = "hookEventName")]
    hook_event_name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_input: Option<&'a Value>,
    #[serde(rename = "additionalContext", skip_serializing_if = "Option::is_none")]
    additional_context: Option<&'a str>,
}

fn spell(event: &HookEvent, outcome: &Outcome<'_>) -> Reply {
    let decision = match (&outcome.deny, &outcome.ask, outcome.grant) {
        (Some(_), _, _) => Some("deny"),
        (None, Some(_), _) => Some("ask"),
        (None, None, grant) => grant.map(|_| "allow"),
    };
    let specific = GeminiSpecificWire {
        hook_event_name: &event.host_event,
        tool_input: outcome.rewrite,
        additional_context: outcome.context.as_deref(),
    };
    let has_specific = outcome.rewrite.is_some() || outcome.context.is_some();
    Reply::json(&GeminiWire {
        go_on: outcome.halt.map(|_| false),
        stop_reason: outcome.halt,
        decision,
        reason: outcome.deny.as_deref(),
        // The confirmation dialog shows the message, not the reason.
        system_message: outcome.message.or(outcome.ask.as_deref()),
        hook_specific_output: has_specific.then_some(specific),
    })
}
