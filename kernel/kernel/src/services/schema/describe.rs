//! Words for values and types that people understand and that give no secret away.

use super::MAX_ECHO_CHARS;
use crate::services::dotted::PathStep;
use serde_json::{Map, Value};

/// Choices that are listed in a message.
const MAX_CHOICES: usize = 12;
/// Text longer than this is not even counted.
const MAX_COUNTED_BYTES: usize = 4096;
/// A key that holds one of these words holds something that is never repeated.
const SENSITIVE_WORDS: [&str; 7] = ["secret", "token", "password", "passphrase", "credential", "key", "authorization"];

/// What the type `string` is called.
pub(super) const TEXT: &str = "text";

/// Whether a message may repeat the value it is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ValueEcho {
    /// A short value may be repeated.
    Short,
    /// Only the type is told.
    Never,
}

/// Decides by the schema's notes and by the names on the way to the value.
pub(super) fn echo(schema: &Map<String, Value>, steps: &[PathStep]) -> ValueEcho {
    let noted = schema.get("writeOnly") == Some(&Value::Bool(true))
        || schema.get("format").and_then(Value::as_str) == Some("password");
    let named = || steps.iter().any(|step| matches!(step, PathStep::Key(key) if is_sensitive(key)));
    if noted || named() { ValueEcho::Never } else { ValueEcho::Short }
}

/// What was found, in a few words.
pub(super) fn found(value: &Value, echo: ValueEcho) -> String {
    match (value, echo) {
        (Value::Null, _) => "nothing (null)".to_owned(),
        (Value::Array(_), _) => "a list".to_owned(),
        (Value::Object(_), _) => "an object".to_owned(),
        (Value::String(text), ValueEcho::Short) => text_found(text),
        (Value::String(_), ValueEcho::Never) => "text".to_owned(),
        (Value::Number(number), ValueEcho::Short) => number.to_string(),
        (Value::Number(_), ValueEcho::Never) => "a number".to_owned(),
        (Value::Bool(flag), _) => flag.to_string(),
    }
}

/// What a type is called.
pub(super) fn type_words(name: &str) -> &'static str {
    match name {
        "string" => TEXT,
        "integer" => "a whole number",
        "number" => "a number",
        "boolean" => "true or false",
        "array" => "a list",
        "object" => "an object",
        _ => "nothing (null)",
    }
}

/// `a`, `a or b`, `a, b or c`; each once.
pub(super) fn either(words: &[String]) -> String {
    let mut unique: Vec<&str> = Vec::new();
    for word in words {
        if !unique.contains(&word.as_str()) {
            unique.push(word);
        }
    }
    match unique.split_last() {
        None => "nothing".to_owned(),
        Some((only, [])) => (*only).to_owned(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
    }
}

/// The values that a schema lists, as far as they fit a message.
pub(super) fn choices(values: &[Value]) -> Vec<String> {
    let mut words: Vec<String> = values.iter().take(MAX_CHOICES).map(|value| found(value, ValueEcho::Short)).collect();
    if values.len() > MAX_CHOICES {
        words.push(format!("{} others", values.len() - MAX_CHOICES));
    }
    words
}

fn text_found(text: &str) -> String {
    if text.chars().nth(MAX_ECHO_CHARS).is_none() && !text.chars().any(char::is_control) {
        return Value::from(text).to_string();
    }
    if text.len() > MAX_COUNTED_BYTES {
        "a long text".to_owned()
    } else {
        format!("text of {} characters", text.chars().count())
    }
}

fn is_sensitive(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    SENSITIVE_WORDS.iter().any(|word| key.contains(word))
}
