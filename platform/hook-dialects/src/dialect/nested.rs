//! The reply shape that grew out of Claude Code and that several hosts share in part.

use serde::Serialize;
use serde_json::Value;

use super::settle::Outcome;

/// The whole reply.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NestedWire<'a> {
    #[serde(rename = "continue", skip_serializing_if = "Option::is_none")]
    go_on: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stop_reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    system_message: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    decision: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hook_specific_output: Option<SpecificWire<'a>>,
}

/// The part that is read per event.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SpecificWire<'a> {
    pub(crate) hook_event_name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) permission_decision: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) permission_decision_reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) updated_input: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) updated_tool_output: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) additional_context: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) decision: Option<DecisionWire<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<&'a str>,
}

/// A decision inside the event's part: a word at a stop, an object at a permission request.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum DecisionWire<'a> {
    Word(&'static str),
    Permission(PermissionWire<'a>),
}

/// The answer to a permission request.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PermissionWire<'a> {
    behavior: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    interrupt: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    updated_input: Option<&'a Value>,
}

/// Whether a permission request's reply may end the turn.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Interrupt {
    Allowed,
    Unknown,
}

impl<'a> NestedWire<'a> {
    /// What every event may say: a halt, a message for the user.
    pub(crate) fn frame(outcome: &'a Outcome<'a>) -> Self {
        Self {
            go_on: outcome.halt.map(|_| false),
            stop_reason: outcome.halt,
            system_message: outcome.message,
            ..Self::default()
        }
    }

    /// `decision: "block"` beside the frame, and context below it.
    pub(crate) fn block(event: &'a str, outcome: &'a Outcome<'a>) -> Self {
        let specific = SpecificWire {
            hook_event_name: event,
            additional_context: outcome.context.as_deref(),
            updated_tool_output: outcome.output,
            ..SpecificWire::default()
        };
        let mut wire = Self::frame(outcome);
        wire.decision = outcome.deny.as_ref().map(|_| "block");
        wire.reason = outcome.deny.as_deref();
        if outcome.context.is_some() || outcome.output.is_some() {
            wire.hook_specific_output = Some(specific);
        }
        wire
    }

    /// A permission decision on a tool call.
    pub(crate) fn tool_permission(event: &'a str, outcome: &'a Outcome<'a>) -> Self {
        let (decision, reason) = permission_words(outcome);
        let specific = SpecificWire {
            hook_event_name: event,
            permission_decision: decision,
            permission_decision_reason: reason,
            updated_input: outcome.rewrite,
            additional_context: outcome.context.as_deref(),
            ..SpecificWire::default()
        };
        let mut wire = Self::frame(outcome);
        if decision.is_some() || outcome.rewrite.is_some() || outcome.context.is_some() {
            wire.hook_specific_output = Some(specific);
        }
        wire
    }

    /// The answer to the host's own question whether a tool may run.
    pub(crate) fn permission_request(event: &'a str, outcome: &'a Outcome<'a>, interrupt: Interrupt) -> Self {
        let mut wire = Self { system_message: outcome.message, ..Self::default() };
        let halt = outcome.halt.filter(|_| interrupt == Interrupt::Allowed);
        let refused = outcome.deny.as_deref().or(halt);
        let permission = match (refused, outcome.grant) {
            (Some(reason), _) => PermissionWire {
                behavior: "deny",
                message: Some(reason),
                interrupt: halt.map(|_| true),
                updated_input: None,
            },
            (None, Some(_)) => {
                PermissionWire { behavior: "allow", updated_input: outcome.rewrite, ..PermissionWire::default() }
            }
            (None, None) => return wire,
        };
        wire.hook_specific_output = Some(SpecificWire {
            hook_event_name: event,
            decision: Some(DecisionWire::Permission(permission)),
            ..SpecificWire::default()
        });
        wire
    }

    /// Drops the full stop of a refusal's reason, for a host that continues the sentence.
    pub(crate) fn without_full_stop(mut self) -> Self {
        if let Some(specific) = &mut self.hook_specific_output {
            specific.permission_decision_reason =
                specific.permission_decision_reason.map(|reason| reason.trim_end().trim_end_matches('.'));
        }
        self
    }

    /// Adds the event's part.
    pub(crate) fn with_specific(mut self, specific: SpecificWire<'a>) -> Self {
        self.hook_specific_output = Some(specific);
        self
    }
}

/// The permission word and its reason, if there is one to say.
pub(crate) fn permission_words<'a>(outcome: &'a Outcome<'a>) -> (Option<&'static str>, Option<&'a str>) {
    if let Some(reason) = outcome.deny.as_deref() {
        return (Some("deny"), Some(reason));
    }
    if let Some(reason) = outcome.ask.as_deref() {
        return (Some("ask"), Some(reason));
    }
    match outcome.grant {
        Some(reason) => (Some("allow"), Some(reason).filter(|text| !text.is_empty())),
        None => (None, None),
    }
}
