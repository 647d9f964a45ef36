//! GitHub Copilot CLI and cloud agent: flat replies, and two payload styles behind one host.

use dispatch_hook_module::{EventName, HookEvent};
use serde::Serialize;
use serde_json::Value;

use super::fields::Fields;
use super::nested::{SpecificWire, permission_words};
use super::settle::Outcome;
use super::support::{Abilities, EventSupport, OTHER, Support, row};
use super::{Dialect, ask_holds, empty_object, read_nothing};
use crate::answer::Reply;

const TOOL: Abilities =
    Abilities::DENY.and(Abilities::ASK).and(Abilities::GRANT).and(Abilities::REWRITE).and(Abilities::CONTEXT);
const RESULT: Abilities = Abilities::CONTEXT.and(Abilities::OUTPUT);
const PERMISSION: Abilities = Abilities::DENY.and(Abilities::GRANT).and(Abilities::HALT);

const EVENTS: &[EventSupport] = &[
    row("sessionStart", EventName::SessionStart, Abilities::CONTEXT, ""),
    row(
        "userPromptSubmitted",
        EventName::UserPromptSubmit,
        Abilities::CONTEXT,
        "context reaches the model only in newer builds",
    ),
    row("preToolUse", EventName::PreToolUse, TOOL, "the cloud agent takes ask for deny"),
    row("postToolUse", EventName::PostToolUse, RESULT, ""),
    row("preCompact", EventName::PreCompact, Abilities::NONE, ""),
    row("agentStop", EventName::Stop, Abilities::DENY, "at most 8 blocks in a row"),
    row("subagentStart", EventName::SubagentStart, Abilities::CONTEXT, ""),
    row("subagentStop", EventName::SubagentStop, Abilities::DENY, ""),
    row("postToolUseFailure", OTHER, Abilities::CONTEXT, ""),
    row("permissionRequest", OTHER, PERMISSION, ""),
    row("notification", OTHER, Abilities::CONTEXT, ""),
    row("sessionEnd", OTHER, Abilities::NONE, ""),
    row("errorOccurred", OTHER, Abilities::NONE, ""),
    row("userPromptTransformed", OTHER, Abilities::NONE, ""),
    row("preMcpToolCall", OTHER, Abilities::NONE, ""),
    row("SessionStart", EventName::SessionStart, Abilities::CONTEXT, ""),
    row("UserPromptSubmit", EventName::UserPromptSubmit, Abilities::CONTEXT, "as userPromptSubmitted"),
    row("PreToolUse", EventName::PreToolUse, TOOL, "tool names are Claude Code's, arguments are Copilot's"),
    row("PostToolUse", EventName::PostToolUse, RESULT, ""),
    row("PreCompact", EventName::PreCompact, Abilities::NONE, ""),
    row("Stop", EventName::Stop, Abilities::DENY, ""),
    row("SubagentStart", EventName::SubagentStart, Abilities::CONTEXT, ""),
    row("SubagentStop", EventName::SubagentStop, Abilities::DENY, ""),
    row("PostToolUseFailure", OTHER, Abilities::CONTEXT, ""),
    row("PermissionRequest", OTHER, PERMISSION, ""),
    row("Notification", OTHER, Abilities::CONTEXT, ""),
    row("SessionEnd", OTHER, Abilities::NONE, ""),
    row("ErrorOccurred", OTHER, Abilities::NONE, ""),
];

pub(super) static DIALECT: Dialect = Dialect {
    support: Support {
        id: "copilot-cli",
        title: "GitHub Copilot CLI",
        aliases: &["copilot", "copilot-cli-pascal", "copilot-cloud"],
        event_keys: &["hook_event_name", "hookEventName", "hookName"],
        project_variables: &["CLAUDE_PROJECT_DIR"],
        events: EVENTS,
        degradation: "A deny after a tool or on a prompt becomes context. A halt becomes a deny, \
                      except at a permission request, which it interrupts. Exit codes other than 0 \
                      deny, so none is used. PascalCase events get the flat and the nested form.",
    },
    go_on: empty_object,
    infer,
    read: read_nothing,
    tool_table,
    ask: ask_holds,
    spell,
};

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct FlatWire<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    permission_decision: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    permission_decision_reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    modified_args: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    modified_result: Option<ResultWire>,
    #[serde(skip_serializing_if = "Option::is_none")]
    additional_context: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    decision: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    behavior: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    interrupt: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hook_specific_output: Option<SpecificWire<'a>>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ResultWire {
    result_type: &'static str,
    text_result_for_llm: String,
}

/// camelCase payloads name no event, but each has a field that no other has.
fn infer(fields: Fields<'_>) -> Option<&str> {
    const SIGNS: [(&str, &str); 15] = [
        ("toolResult", "postToolUse"),
        ("toolInput", "permissionRequest"),
        ("errorContext", "errorOccurred"),
        ("transformedPrompt", "userPromptTransformed"),
        ("prompt", "userPromptSubmitted"),
        ("notification_type", "notification"),
        ("customInstructions", "preCompact"),
        ("trigger", "preCompact"),
        ("agentId", "subagentStop"),
        ("response", "subagentStop"),
        ("agentName", "subagentStart"),
        ("stopReason", "agentStop"),
        ("initialPrompt", "sessionStart"),
        ("source", "sessionStart"),
        ("reason", "sessionEnd"),
    ];
    if fields.has("toolName") && fields.has("error") {
        return Some("postToolUseFailure");
    }
    let sign = SIGNS.into_iter().find(|(key, _)| fields.has(key));
    match sign {
        Some((_, event)) => Some(event),
        None => fields.has("toolName").then_some("preToolUse"),
    }
}

fn spell(event: &HookEvent, outcome: &Outcome<'_>) -> Reply {
    let name = event.host_event.as_str();
    let mut wire = FlatWire {
        additional_context: outcome.context.as_deref(),
        modified_result: outcome
            .output
            .map(|output| ResultWire { result_type: "success", text_result_for_llm: as_text(output) }),
        ..FlatWire::default()
    };
    match event.name {
        EventName::PreToolUse => {
            let (decision, reason) = permission_words(outcome);
            wire.permission_decision = decision;
            wire.permission_decision_reason = reason;
            wire.modified_args = outcome.rewrite;
        }
        EventName::Other(_) if name.eq_ignore_ascii_case("permissionRequest") => {
            let refused = outcome.deny.as_deref().or(outcome.halt);
            wire.behavior = refused.map(|_| "deny").or(outcome.grant.map(|_| "allow"));
            wire.message = refused;
            wire.interrupt = outcome.halt.map(|_| true);
        }
        _ => {
            wire.decision = outcome.deny.as_ref().map(|_| "block");
            wire.reason = outcome.deny.as_deref();
        }
    }
    if name.starts_with(|first: char| first.is_ascii_uppercase()) {
        wire.hook_specific_output = nested_twin(name, outcome, &wire);
    }
    Reply::json(&wire)
}

/// The nested form of the same decision, which the PascalCase events also read.
fn nested_twin<'a>(name: &'a str, outcome: &'a Outcome<'a>, flat: &FlatWire<'a>) -> Option<SpecificWire<'a>> {
    let worth_saying = flat.permission_decision.is_some() || outcome.rewrite.is_some() || outcome.context.is_some();
    worth_saying.then(|| SpecificWire {
        hook_event_name: name,
        permission_decision: flat.permission_decision,
        permission_decision_reason: flat.permission_decision_reason,
        updated_input: outcome.rewrite,
        additional_context: outcome.context.as_deref(),
        ..SpecificWire::default()
    })
}

fn as_text(output: &Value) -> String {
    match output {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The events in PascalCase rename the tools as Claude Code does, and keep the host's own arguments.
fn tool_table(host_event: &str) -> Option<&'static str> {
    host_event.starts_with(|first: char| first.is_ascii_uppercase()).then_some("copilot-cli-pascal")
}
