//! How large a value is, found without recursion.

use super::MAX_WORK;
use serde_json::Value;

/// Bytes of text that cost as much as one application of a schema.
const BYTES_PER_WORK: usize = 256;

/// How much work it is to look at a text.
pub(super) fn text(text: &str) -> usize {
    text.len() / BYTES_PER_WORK
}

/// How much work it is to compare a value; no more is counted than a check may spend.
pub(super) fn weight(value: &Value) -> usize {
    let mut weight = 0;
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        weight += 1;
        match value {
            Value::String(value) => weight += text(value),
            Value::Array(items) => open.extend(items),
            Value::Object(entries) => open.extend(entries.values()),
            _ => {}
        }
        if weight > MAX_WORK {
            break;
        }
    }
    weight
}

/// Whether lists and objects are nested deeper than `limit`.
pub(crate) fn is_deeper_than(value: &Value, limit: usize) -> bool {
    let mut open = vec![(value, 0)];
    while let Some((value, depth)) = open.pop() {
        if depth > limit {
            return true;
        }
        match value {
            Value::Array(items) => open.extend(items.iter().map(|item| (item, depth + 1))),
            Value::Object(entries) => open.extend(entries.values().map(|entry| (entry, depth + 1))),
            _ => {}
        }
    }
    false
}
