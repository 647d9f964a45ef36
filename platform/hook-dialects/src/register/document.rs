//! JSON files of other programs: read strictly, written back in their own layout.

use serde::de::{DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor};
use serde::{Deserializer, Serialize};
use serde_json::{Map, Value};

use super::RegisterError;

/// A JSON object and the layout it was written in.
pub struct Document {
    /// The object.
    pub root: Map<String, Value>,
    indent: String,
    newline: &'static str,
    ends_with_newline: bool,
}

impl Document {
    /// An object without keys, in our own layout.
    #[must_use]
    pub fn empty() -> Self {
        Self { root: Map::new(), indent: "  ".to_owned(), newline: "\n", ends_with_newline: true }
    }

    /// Parses a file; blank files count as empty. `snippet` is what to show when it has comments.
    ///
    /// # Errors
    /// When it is not a JSON object, or has something that a rewrite would lose.
    pub fn parse(text: &str, snippet: impl FnOnce() -> String) -> Result<Self, RegisterError> {
        let text = text.trim_start_matches('\u{feff}');
        if text.trim().is_empty() {
            return Ok(Self::empty());
        }
        let value = parse_strict(text).map_err(|error| match error {
            RegisterError::Syntax { .. } if is_json_with_comments(text) => {
                RegisterError::Comments { snippet: snippet() }
            }
            other => other,
        })?;
        let Value::Object(root) = value else {
            return Err(RegisterError::Shape { at: "the file".to_owned(), expected: "an object" });
        };
        Ok(Self {
            root,
            indent: indent_of(text),
            newline: if text.contains("\r\n") { "\r\n" } else { "\n" },
            ends_with_newline: text.ends_with('\n'),
        })
    }

    /// The file's text.
    #[must_use]
    pub fn print(&self) -> String {
        let mut text = pretty(&Value::Object(self.root.clone()), &self.indent);
        if self.newline != "\n" {
            text = text.replace('\n', self.newline);
        }
        if self.ends_with_newline {
            text.push_str(self.newline);
        }
        text
    }
}

/// Pretty JSON with this indent.
pub(super) fn pretty(value: &Value, indent: &str) -> String {
    let mut bytes = Vec::new();
    let formatter = serde_json::ser::PrettyFormatter::with_indent(indent.as_bytes());
    let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, formatter);
    // A value holds only what JSON can express, so neither step can fail.
    let _ = value.serialize(&mut serializer);
    String::from_utf8(bytes).unwrap_or_default()
}

fn indent_of(text: &str) -> String {
    text.lines()
        .skip(1)
        .map(|line| &line[..line.len() - line.trim_start_matches([' ', '\t']).len()])
        .find(|indent| !indent.is_empty())
        .unwrap_or("  ")
        .to_owned()
}

fn parse_strict(text: &str) -> Result<Value, RegisterError> {
    let mut duplicate = None;
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let seed = Strict { duplicate: &mut duplicate };
    let value = seed.deserialize(&mut deserializer).and_then(|value| deserializer.end().map(|()| value));
    match (value, duplicate) {
        (_, Some(key)) => Err(RegisterError::DuplicateKey { key }),
        (Ok(value), None) => Ok(value),
        (Err(error), None) => Err(RegisterError::Syntax { line: error.line(), column: error.column() }),
    }
}

/// Builds a value and stops at the first key that an object has twice.
struct Strict<'a> {
    duplicate: &'a mut Option<String>,
}

impl<'de> DeserializeSeed<'de> for Strict<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict<'_> {
    type Value = Value;

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(Strict { duplicate: self.duplicate })? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            if object.contains_key(&key) {
                *self.duplicate = Some(key);
                return Err(A::Error::custom("duplicate key"));
            }
            let value = entries.next_value_seed(Strict { duplicate: self.duplicate })?;
            object.insert(key, value);
        }
        Ok(Value::Object(object))
    }
}

/// Whether the text would be JSON without its comments and trailing commas.
fn is_json_with_comments(text: &str) -> bool {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    let mut in_string = false;
    while let Some(character) = rest.chars().next() {
        if !in_string && rest.starts_with("//") {
            rest = rest.find('\n').map_or("", |end| &rest[end..]);
            continue;
        }
        if !in_string && rest.starts_with("/*") {
            rest = rest.find("*/").map_or("", |end| &rest[end + 2..]);
            continue;
        }
        let after = &rest[character.len_utf8()..];
        match character {
            '\\' if in_string => {
                let escaped = after.chars().next().map_or(0, char::len_utf8);
                plain.push_str(&rest[..1 + escaped]);
                rest = &after[escaped..];
                continue;
            }
            '"' => in_string = !in_string,
            '}' | ']' if !in_string => {
                let kept = plain.trim_end().trim_end_matches(',').len();
                plain.truncate(kept);
            }
            _ => {}
        }
        plain.push(character);
        rest = after;
    }
    serde_json::from_str::<Value>(&plain).is_ok()
}
