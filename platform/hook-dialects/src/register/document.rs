//! JSON files of other programs: read strictly, written back in their own layout.

use serde::de::{DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor};
use serde::{Deserializer, Serialize};
use serde_json::{Map, Value};

use super::RegisterError;
use super::commented_json::{edited, plain};

/// A JSON object and the layout it was written in.
pub struct Document {
    /// The object.
    pub root: Map<String, Value>,
    commented: Option<CommentedText>,
    indent: String,
    newline: &'static str,
    ends_with_newline: bool,
}

/// The text of a file with comments or trailing commas, and what it said.
struct CommentedText {
    text: String,
    said: Map<String, Value>,
    snippet: String,
}

impl Document {
    /// An object without keys, in our own layout.
    #[must_use]
    pub fn empty() -> Self {
        Self { root: Map::new(), commented: None, indent: "  ".to_owned(), newline: "\n", ends_with_newline: true }
    }

    /// Parses a file, also one with comments and trailing commas; blank files count as empty. `snippet` is what to show
    /// when comments cannot be kept.
    ///
    /// # Errors
    /// When it is not a JSON object, or has something that a rewrite would lose.
    pub fn parse(text: &str, snippet: impl FnOnce() -> String) -> Result<Self, RegisterError> {
        let text = text.trim_start_matches('\u{feff}');
        if text.trim().is_empty() {
            return Ok(Self::empty());
        }
        let (value, has_comments) = match parse_strict(text) {
            Err(RegisterError::Syntax { line, column }) => {
                let said = parse_strict(&plain(text)).map_err(|error| match error {
                    RegisterError::Syntax { .. } => RegisterError::Syntax { line, column },
                    other => other,
                })?;
                (said, true)
            }
            strict => (strict?, false),
        };
        let Value::Object(root) = value else {
            return Err(RegisterError::Shape { at: "the file".to_owned(), expected: "an object" });
        };
        let commented =
            has_comments.then(|| CommentedText { text: text.to_owned(), said: root.clone(), snippet: snippet() });
        Ok(Self {
            root,
            commented,
            indent: indent_of(text),
            newline: if text.contains("\r\n") { "\r\n" } else { "\n" },
            ends_with_newline: text.ends_with('\n'),
        })
    }

    /// Whether the file has comments or trailing commas of its own.
    #[must_use]
    pub const fn has_comments(&self) -> bool {
        self.commented.is_some()
    }

    /// The file's text.
    ///
    /// # Errors
    /// When the file has comments that could not be kept.
    pub fn print(&self) -> Result<String, RegisterError> {
        if let Some(original) = &self.commented {
            let edited = edited(&original.text, &original.said, &self.root, &self.indent);
            return edited.ok_or_else(|| RegisterError::Comments { snippet: original.snippet.clone() });
        }
        let mut text = pretty(&Value::Object(self.root.clone()), &self.indent);
        if self.newline != "\n" {
            text = text.replace('\n', self.newline);
        }
        if self.ends_with_newline {
            text.push_str(self.newline);
        }
        Ok(text)
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
