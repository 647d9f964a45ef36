//! Keeps log records small, whatever is put into them.

use serde_json::{Map, Value};

/// Bytes of a message.
pub const MAX_MESSAGE_BYTES: usize = 1024;
/// Bytes of a source or of a field's name.
pub const MAX_NAME_BYTES: usize = 64;
/// Bytes of one text in a field.
pub const MAX_FIELD_BYTES: usize = 512;
/// Fields of one record.
pub const MAX_FIELDS: usize = 32;
/// Items of a list, or entries of an object, in a field.
pub const MAX_FIELD_ITEMS: usize = 16;
/// Levels of lists and objects in a field.
pub const MAX_FIELD_DEPTH: usize = 3;

/// Stands where something was cut.
const CUT: &str = "…";

/// A message on one line.
pub(super) fn message(message: &str) -> String {
    text(message, MAX_MESSAGE_BYTES).replace(char::is_control, " ")
}

/// The name of a source or a field.
pub(super) fn name(name: &str) -> String {
    text(name, MAX_NAME_BYTES)
}

/// A field's value, within all limits.
pub(super) fn value(value: Value) -> Value {
    within(value, MAX_FIELD_DEPTH)
}

fn within(value: Value, depth: usize) -> Value {
    match value {
        Value::String(whole) if whole.len() > MAX_FIELD_BYTES => Value::from(text(&whole, MAX_FIELD_BYTES)),
        Value::Array(_) | Value::Object(_) if depth == 0 => Value::from(CUT),
        Value::Array(items) => {
            let left_out = items.len() > MAX_FIELD_ITEMS;
            let kept = items.into_iter().take(MAX_FIELD_ITEMS).map(|item| within(item, depth - 1));
            kept.chain(left_out.then(|| Value::from(CUT))).collect()
        }
        Value::Object(entries) => {
            let left_out = entries.len() > MAX_FIELD_ITEMS;
            let kept = entries.into_iter().take(MAX_FIELD_ITEMS);
            let mut kept: Map<String, Value> = kept.map(|(key, item)| (name(&key), within(item, depth - 1))).collect();
            if left_out {
                kept.insert(CUT.to_owned(), Value::from(CUT));
            }
            Value::Object(kept)
        }
        small => small,
    }
}

/// At most `limit` bytes, the mark of the cut included, without splitting a character.
fn text(whole: &str, limit: usize) -> String {
    if whole.len() <= limit {
        return whole.to_owned();
    }
    let end = whole.floor_char_boundary(limit - CUT.len());
    format!("{}{CUT}", whole.get(..end).unwrap_or_default())
}
