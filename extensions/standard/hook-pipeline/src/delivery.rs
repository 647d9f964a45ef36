//! Tells a second delivery of an event from a new one, and keeps the answer that the first one got.

use dispatch_hook_dialects::Answer;
use dispatch_hook_module::digest::short_key;
use dispatch_hook_module::{Decision, HookEvent};
use serde_json::{Map, Value};

/// The words of the log for a decision and its grant.
const PASS: &str = "pass";
const GRANT: &str = "grant";
const ASK: &str = "ask";
const DENY: &str = "deny";

/// The key of a delivery: equal for the same call, event and configuration in one session.
/// Nothing for events that carry no id of their own.
#[must_use]
pub(crate) fn delivery_key(event: &HookEvent, session_id: &str, configuration: &str) -> Option<String> {
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
#[must_use]
pub(crate) fn store_answer(answer: &Answer) -> Value {
    let verdict = match (answer.decision, answer.grant) {
        (Decision::Deny, _) => DENY,
        (Decision::Ask, _) => ASK,
        (Decision::Allow, true) => GRANT,
        (Decision::Allow, false) => PASS,
    };
    let mut fields = Map::from_iter([("verdict".to_owned(), verdict.into())]);
    let mut put = |name: &str, value: Option<Value>| {
        fields.extend(value.map(|value| (name.to_owned(), value)));
    };
    put("reason", answer.reason.clone().map(Value::from));
    put("code", answer.code.clone().map(Value::from));
    put("context", (!answer.context.is_empty()).then(|| answer.context.clone().into()));
    put("systemMessage", answer.system_message.clone().map(Value::from));
    put("updatedInput", answer.updated_input.clone());
    put("updatedOutput", answer.updated_output.clone());
    put("halt", answer.halt.clone().map(Value::from));
    Value::Object(fields)
}

/// The answer in what the log keeps; nothing if the log does not say what was decided.
#[must_use]
pub(crate) fn read_answer(stored: &Value) -> Option<Answer> {
    let (decision, grant) = match stored.get("verdict")?.as_str()? {
        DENY => (Decision::Deny, false),
        ASK => (Decision::Ask, false),
        GRANT => (Decision::Allow, true),
        PASS => (Decision::Allow, false),
        _ => return None,
    };
    let text = |name: &str| stored.get(name).and_then(Value::as_str).map(str::to_owned);
    let context = stored.get("context").and_then(Value::as_array).into_iter().flatten();
    Some(Answer {
        decision,
        grant,
        reason: text("reason"),
        code: text("code"),
        context: context.filter_map(Value::as_str).map(str::to_owned).collect(),
        system_message: text("systemMessage"),
        updated_input: stored.get("updatedInput").cloned(),
        updated_output: stored.get("updatedOutput").cloned(),
        halt: text("halt"),
    })
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
        let full = Answer {
            code: Some("UB01".to_owned()),
            context: vec!["why".to_owned()],
            system_message: Some("look".to_owned()),
            updated_input: Some(json!({"a": 1})),
            updated_output: Some(json!("text")),
            halt: Some("enough".to_owned()),
            ..Answer::deny("no")
        };
        for answer in [full, Answer::pass(), Answer::granted(), Answer::ask("sure?")] {
            let text = store_answer(&answer).to_string();
            let back: Value = serde_json::from_str(&text).expect("readable");
            assert_eq!(read_answer(&back), Some(answer), "{text}");
        }
        assert_eq!(read_answer(&json!({"verdict": "perhaps"})), None);
    }

    #[test]
    fn the_log_keeps_the_words_it_always_had() {
        let stored = Answer { code: Some("UB01".to_owned()), ..Answer::deny("no") };
        assert_eq!(store_answer(&stored), json!({"verdict": "deny", "reason": "no", "code": "UB01"}));
        assert_eq!(store_answer(&Answer::pass()), json!({"verdict": "pass"}));
        assert_eq!(store_answer(&Answer::granted()), json!({"verdict": "grant"}));
    }
}
