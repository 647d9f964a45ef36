//! Tells a second delivery of an event from a new one, and keeps the answer that the first one got.

use dispatch_hook_dialects::{Answer, Verdict};
use dispatch_hook_module::HookEvent;
use dispatch_hook_module::digest::short_key;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The key of a delivery: equal for the same call, event and configuration in one session.
/// Nothing for events that carry no id of their own.
#[must_use]
pub fn delivery_key(event: &HookEvent, session_id: &str, configuration: &str) -> Option<String> {
    let id = event.tool_use_id.as_deref().filter(|id| !id.is_empty())?;
    Some(short_key(&[
        session_id.as_bytes(),
        event.name.as_str().as_bytes(),
        id.as_bytes(),
        event.tool_name.as_deref().unwrap_or_default().as_bytes(),
        // A host that uses an id twice must not get the answer to another question.
        event.tool_input.to_string().as_bytes(),
        event.tool_response.to_string().as_bytes(),
        configuration.as_bytes(),
    ]))
}

/// An answer as the log keeps it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StoredAnswer {
    verdict: StoredVerdict,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    code: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    context: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    updated_input: Option<Value>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum StoredVerdict {
    Pass,
    Grant,
    Ask,
    Deny,
}

impl From<&Answer> for StoredAnswer {
    fn from(answer: &Answer) -> Self {
        let verdict = match answer.verdict {
            Verdict::Pass => StoredVerdict::Pass,
            Verdict::Grant => StoredVerdict::Grant,
            Verdict::Ask => StoredVerdict::Ask,
            Verdict::Deny => StoredVerdict::Deny,
        };
        Self {
            verdict,
            reason: answer.reason.clone(),
            code: answer.code.clone(),
            context: answer.context.clone(),
            updated_input: answer.updated_input.clone(),
        }
    }
}

impl From<StoredAnswer> for Answer {
    fn from(stored: StoredAnswer) -> Self {
        let verdict = match stored.verdict {
            StoredVerdict::Pass => Verdict::Pass,
            StoredVerdict::Grant => Verdict::Grant,
            StoredVerdict::Ask => Verdict::Ask,
            StoredVerdict::Deny => Verdict::Deny,
        };
        Self {
            verdict,
            reason: stored.reason,
            code: stored.code,
            context: stored.context,
            updated_input: stored.updated_input,
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use dispatch_hook_module::testing::TestInvocation;

    #[test]
    fn a_key_is_equal_only_for_the_same_call_event_and_configuration() {
        let event = || TestInvocation::command("ls").event;
        let key = |event: &HookEvent, session: &str, configuration: &str| delivery_key(event, session, configuration);
        let first = key(&event(), "s", "c");
        assert!(first.is_some());
        assert_eq!(first, key(&event(), "s", "c"));
        assert_ne!(first, key(&event(), "t", "c"));
        assert_ne!(first, key(&event(), "s", "d"));
        assert_ne!(first, key(&TestInvocation::command("pwd").event, "s", "c"));
        let mut without = event();
        without.tool_use_id = None;
        assert_eq!(key(&without, "s", "c"), None);
    }

    #[test]
    fn an_answer_survives_being_stored() {
        let mut answer = Answer::deny("no");
        answer.code = Some("UB01".to_owned());
        answer.context.push("why".to_owned());
        answer.updated_input = Some(json!({"a": 1}));
        let text = serde_json::to_string(&StoredAnswer::from(&answer)).expect("serialisable");
        let back: StoredAnswer = serde_json::from_str(&text).expect("readable");
        assert_eq!(Answer::from(back), answer);
    }
}
