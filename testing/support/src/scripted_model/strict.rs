//! What the strictest servers of the chat protocol refuse, so that nothing less strict hides a mistake.

use serde_json::Value;
use std::collections::BTreeSet;

/// What is wrong with a request for a reply, if anything is: roles alternate, every call has exactly one
/// result right behind it, nothing is empty, no call id is used twice.
#[must_use]
pub fn strict_problem(request: &Value) -> Option<String> {
    let Some(messages) = request["messages"].as_array() else { return Some("no messages".to_owned()) };
    let mut known = BTreeSet::new();
    let mut open: Vec<String> = Vec::new();
    let mut before = "system";
    for (at, message) in messages.iter().enumerate() {
        let role = message["role"].as_str().unwrap_or_default();
        let fits = match role {
            "system" => at == 0,
            "user" => matches!(before, "system" | "assistant" | "tool") && open.is_empty(),
            "assistant" => matches!(before, "user" | "tool") && open.is_empty(),
            "tool" => matches!(before, "assistant" | "tool") && !open.is_empty(),
            _ => false,
        };
        if !fits {
            return Some(format!("message {at} of `{role}` behind `{before}`, unanswered: {open:?}"));
        }
        if let Some(problem) = content_problem(message, &mut known, &mut open) {
            return Some(format!("message {at} of `{role}`: {problem}"));
        }
        before = role;
    }
    if matches!(before, "user" | "tool") && open.is_empty() {
        return None;
    }
    Some(format!("the last message is of `{before}`, unanswered: {open:?}"))
}

fn content_problem(message: &Value, known: &mut BTreeSet<String>, open: &mut Vec<String>) -> Option<String> {
    let calls = message["tool_calls"].as_array().cloned().unwrap_or_default();
    for call in &calls {
        let id = call["id"].as_str().unwrap_or_default().to_owned();
        let arguments = call["function"]["arguments"].as_str().unwrap_or_default();
        if id.is_empty() || !known.insert(id.clone()) {
            return Some(format!("the call id {id:?} is empty or used twice"));
        }
        if !serde_json::from_str::<Value>(arguments).is_ok_and(|value| value.is_object()) {
            return Some(format!("the arguments of {id} are not an object: {arguments:?}"));
        }
        open.push(id);
    }
    if message["role"] == "tool" {
        let answered = message["tool_call_id"].as_str().unwrap_or_default();
        let Some(place) = open.iter().position(|id| id == answered) else {
            return Some(format!("a result of {answered:?}, which is not open"));
        };
        open.remove(place);
    }
    (calls.is_empty() && is_empty(&message["content"])).then(|| "it says nothing".to_owned())
}

fn is_empty(content: &Value) -> bool {
    match content {
        Value::String(text) => text.trim().is_empty(),
        Value::Array(parts) => {
            parts.is_empty() || parts.iter().any(|part| part["type"] == "text" && is_empty(&part["text"]))
        }
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::strict_problem;
    use serde_json::{Value, json};

    fn call(id: &str) -> Value {
        json!({"id": id, "type": "function", "function": {"name": "x", "arguments": "{}"}})
    }

    #[test]
    fn a_strict_server_refuses_what_is_out_of_order_empty_or_unanswered() {
        let user = json!({"role": "user", "content": "hi"});
        let said = json!({"role": "assistant", "content": "yes"});
        let asks = json!({"role": "assistant", "content": null, "tool_calls": [call("1"), call("2")]});
        let result = |id: &str| json!({"role": "tool", "tool_call_id": id, "content": "x"});
        let cases = [
            (json!([{"role": "system", "content": "s"}, user]), true),
            (json!([user, said, user]), true),
            (json!([user, asks, result("2"), result("1")]), true),
            (json!([user, asks, result("1"), result("2"), said, user]), true),
            (json!([user, asks, result("1")]), false),
            (json!([user, asks, result("1"), result("1")]), false),
            (json!([user, asks, result("1"), said, user]), false),
            (json!([user, user]), false),
            (json!([user, said]), false),
            (json!([said, user]), false),
            (json!([{"role": "user", "content": " "}]), false),
            (json!([user, {"role": "assistant", "content": ""}, user]), false),
            (json!([user, result("1")]), false),
            (json!([]), false),
        ];
        for (messages, good) in cases {
            let problem = strict_problem(&json!({ "messages": messages }));
            assert_eq!(problem.is_none(), good, "{messages}: {problem:?}");
        }
    }
}
