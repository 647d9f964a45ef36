//! The two channels by which a tool input changes: stamps, and the rewrites of one owner.

use serde_json::{Map, Value};

/// What every stamp's name begins with, so that none meets a key of the tool.
pub(super) const STAMP_PREFIX: &str = "_hook";

/// The input with the rewritten keys; nothing if that changes nothing or cannot be done.
pub(super) fn rewritten(input: &Value, update: &Value) -> Option<Value> {
    let next = match (input, update) {
        (Value::Object(fields), Value::Object(changes)) => {
            let mut fields = fields.clone();
            fields.extend(changes.iter().map(|(key, value)| (key.clone(), value.clone())));
            Value::Object(fields)
        }
        (Value::Null, Value::Object(_)) | (Value::String(_), Value::String(_)) => update.clone(),
        _ => return None,
    };
    (next != *input).then_some(next)
}

/// The input with stamps. A key that the tool already has is left alone, and only an object is stamped.
pub(super) fn stamped(input: &Value, stamps: &Map<String, Value>) -> Option<Value> {
    let fields = input.as_object()?;
    let new: Vec<_> = stamps.iter().filter(|(key, _)| !fields.contains_key(*key)).collect();
    if new.is_empty() {
        return None;
    }
    let mut fields = fields.clone();
    fields.extend(new.into_iter().map(|(key, value)| (key.clone(), value.clone())));
    Some(Value::Object(fields))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn updated_input_overwrites_matching_keys_only() {
        let input = json!({"query": "x", "path": "/"});
        assert_eq!(rewritten(&input, &json!({"path": "src"})), Some(json!({"query": "x", "path": "src"})));
        assert_eq!(rewritten(&input, &json!({"path": "/"})), None);
        assert_eq!(rewritten(&input, &json!("text")), None);
        assert_eq!(rewritten(&json!("old"), &json!("new")), Some(json!("new")));
    }

    #[test]
    fn stamps_never_collide_with_a_key_of_the_tool() {
        let stamps = json!({"_hookSessionId": "a"});
        let stamps = stamps.as_object().expect("an object");
        assert_eq!(stamped(&json!({"a": 1}), stamps), Some(json!({"a": 1, "_hookSessionId": "a"})));
        assert_eq!(stamped(&json!({"_hookSessionId": "own"}), stamps), None);
        assert_eq!(stamped(&json!("patch"), stamps), None);
    }
}
