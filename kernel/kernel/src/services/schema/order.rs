//! One order over all JSON values, in which equal means equal as JSON Schema sees it.

use super::number;
use serde_json::{Map, Value};
use std::cmp::Ordering;

/// Compares two values: numbers by value, objects without regard to the order of their keys.
pub(super) fn compare(left: &Value, right: &Value) -> Ordering {
    match (left, right) {
        (Value::Bool(left), Value::Bool(right)) => left.cmp(right),
        (Value::Number(left), Value::Number(right)) => number::compare(left, right),
        (Value::String(left), Value::String(right)) => left.cmp(right),
        (Value::Array(left), Value::Array(right)) => compare_lists(left, right),
        (Value::Object(left), Value::Object(right)) => compare_objects(left, right),
        _ => rank(left).cmp(&rank(right)),
    }
}

/// The positions of two equal items, if there are any.
pub(super) fn equal_items(items: &[Value]) -> Option<(usize, usize)> {
    let mut sorted: Vec<(usize, &Value)> = items.iter().enumerate().collect();
    sorted.sort_by(|(_, left), (_, right)| compare(left, right));
    sorted.windows(2).find_map(|pair| match pair {
        [(first, left), (second, right)] if compare(left, right).is_eq() => {
            Some((*first.min(second), *first.max(second)))
        }
        _ => None,
    })
}

fn compare_lists(left: &[Value], right: &[Value]) -> Ordering {
    let mut by_item = left.iter().zip(right).map(|(left, right)| compare(left, right));
    left.len().cmp(&right.len()).then_with(|| by_item.find(|order| order.is_ne()).unwrap_or(Ordering::Equal))
}

fn compare_objects(left: &Map<String, Value>, right: &Map<String, Value>) -> Ordering {
    let by_size = left.len().cmp(&right.len());
    if by_size.is_ne() {
        return by_size;
    }
    let (left, right) = (sorted(left), sorted(right));
    let mut by_entry = left
        .iter()
        .zip(&right)
        .map(|((left_key, left), (right_key, right))| left_key.cmp(right_key).then_with(|| compare(left, right)));
    by_entry.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
}

fn sorted(map: &Map<String, Value>) -> Vec<(&String, &Value)> {
    let mut entries: Vec<_> = map.iter().collect();
    entries.sort_by_key(|(key, _)| *key);
    entries
}

fn rank(value: &Value) -> u8 {
    match value {
        Value::Null => 0,
        Value::Bool(_) => 1,
        Value::Number(_) => 2,
        Value::String(_) => 3,
        Value::Array(_) => 4,
        Value::Object(_) => 5,
    }
}
