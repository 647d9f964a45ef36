//! Reads JSON and keeps where every value stands, so that whatever is wrong with a value can be shown at its place.
//!
//! Pure.

#[cfg(test)]
mod tests;
mod text;

use serde_json::{Number, Value};
use std::collections::HashSet;

/// Lists and objects inside each other.
pub(crate) const MAX_DEPTH: usize = 64;
/// Values of one file; a hook has some twenty.
pub(crate) const MAX_VALUES: usize = 500_000;
/// Flaws of the text itself; after so many the rest is a consequence.
const MAX_FLAWS: usize = 50;

/// A value and the byte it starts at.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct JsonNode {
    pub(crate) at: usize,
    pub(crate) json: JsonValue,
}

/// What a value is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum JsonValue {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    List(Vec<JsonNode>),
    Object(Vec<JsonMember>),
}

/// A key of an object with its value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct JsonMember {
    pub(crate) key: String,
    pub(crate) key_at: usize,
    pub(crate) value: JsonNode,
}

/// Something that is not JSON, or that JSON parsers read differently.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct JsonFlaw {
    pub(crate) at: usize,
    pub(crate) pointer: String,
    pub(crate) rule: &'static str,
    pub(crate) message: String,
    pub(crate) hint: Option<&'static str>,
}

impl JsonNode {
    /// The value alone.
    pub(crate) fn to_value(&self) -> Value {
        match &self.json {
            JsonValue::Null => Value::Null,
            JsonValue::Bool(flag) => Value::Bool(*flag),
            JsonValue::Number(number) => Value::Number(number.clone()),
            JsonValue::Text(text) => Value::String(text.clone()),
            JsonValue::List(items) => Value::Array(items.iter().map(Self::to_value).collect()),
            JsonValue::Object(members) => {
                Value::Object(members.iter().map(|member| (member.key.clone(), member.value.to_value())).collect())
            }
        }
    }

    /// What kind of value it is, as people say it.
    pub(crate) const fn kind(&self) -> &'static str {
        match self.json {
            JsonValue::Null => "null",
            JsonValue::Bool(_) => "true or false",
            JsonValue::Number(_) => "a number",
            JsonValue::Text(_) => "a text",
            JsonValue::List(_) => "a list",
            JsonValue::Object(_) => "an object",
        }
    }
}

/// Reads a text. Flaws that leave no doubt about what is meant do not end the reading, so that one look shows all.
pub(crate) fn read(text: &str) -> (Option<JsonNode>, Vec<JsonFlaw>) {
    let mut reader = JsonReader { text, bytes: text.as_bytes(), at: 0, flaws: Vec::new(), values: 0 };
    if text.starts_with('\u{feff}') {
        reader.at = '\u{feff}'.len_utf8();
    }
    let root = reader.document();
    (root.ok(), reader.flaws)
}

/// Nothing sensible can be read after this; the flaw says why.
struct JsonAbort;

/// Where the reader is, innermost first.
struct JsonPath<'a> {
    outer: Option<&'a JsonPath<'a>>,
    step: PathSegment<'a>,
}

enum PathSegment<'a> {
    Root,
    Key(&'a str),
    Index(usize),
}

impl JsonPath<'_> {
    fn pointer(&self) -> String {
        let mut steps = Vec::new();
        let mut path = Some(self);
        while let Some(here) = path {
            match here.step {
                PathSegment::Root => {}
                PathSegment::Key(key) => steps.push(escaped(key)),
                PathSegment::Index(index) => steps.push(index.to_string()),
            }
            path = here.outer;
        }
        steps.iter().rev().fold(String::new(), |pointer, step| format!("{pointer}/{step}"))
    }

    const fn inner<'b>(&'b self, step: PathSegment<'b>) -> JsonPath<'b> {
        JsonPath { outer: Some(self), step }
    }
}

/// A key as a part of a JSON pointer.
pub(crate) fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

struct JsonReader<'t> {
    text: &'t str,
    bytes: &'t [u8],
    at: usize,
    flaws: Vec<JsonFlaw>,
    values: usize,
}

impl JsonReader<'_> {
    fn document(&mut self) -> Result<JsonNode, JsonAbort> {
        let root = JsonPath { outer: None, step: PathSegment::Root };
        self.skip_blank(&root)?;
        if self.at == self.bytes.len() {
            return Err(self.stop(
                &root,
                self.at,
                "the file is empty",
                Some("write `{ \"hooks\": [] }` to begin with"),
            ));
        }
        let node = self.value(0, &root)?;
        self.skip_blank(&root)?;
        if self.at < self.bytes.len() {
            let message = format!("unexpected {} after the value", self.found());
            return Err(self.stop(&root, self.at, message, Some("a file holds one JSON value")));
        }
        Ok(node)
    }

    fn value(&mut self, depth: usize, path: &JsonPath<'_>) -> Result<JsonNode, JsonAbort> {
        let at = self.at;
        self.values += 1;
        if self.values > MAX_VALUES {
            self.flaw(path, at, "too-large", format!("the file has more than {MAX_VALUES} values"), None);
            return Err(JsonAbort);
        }
        let json = match self.peek() {
            Some(b'{' | b'[') if depth >= MAX_DEPTH => {
                let message = format!("lists and objects are nested deeper than {MAX_DEPTH}");
                self.flaw(path, at, "too-deep", message, None);
                return Err(JsonAbort);
            }
            Some(b'{') => JsonValue::Object(self.object(depth, path)?),
            Some(b'[') => JsonValue::List(self.list(depth, path)?),
            Some(b'"') => JsonValue::Text(self.string(path)?),
            Some(b'-' | b'0'..=b'9') => JsonValue::Number(self.number(path)?),
            _ => self.word(path)?,
        };
        Ok(JsonNode { at, json })
    }

    fn object(&mut self, depth: usize, path: &JsonPath<'_>) -> Result<Vec<JsonMember>, JsonAbort> {
        let start = self.at;
        self.at += 1;
        let mut members: Vec<JsonMember> = Vec::new();
        let mut seen = HashSet::new();
        loop {
            self.skip_blank(path)?;
            match self.peek() {
                Some(b'}') => {
                    self.at += 1;
                    return Ok(members);
                }
                Some(b'"') => {}
                None => return Err(self.unclosed(path, start, "object", '}')),
                Some(_) => {
                    let message = format!("expected a key in double quotes, found {}", self.found());
                    return Err(self.stop(path, self.at, message, Some("write keys in double quotes")));
                }
            }
            let key_at = self.at;
            let key = self.string(path)?;
            self.skip_blank(path)?;
            if self.peek() != Some(b':') {
                let message = format!("expected `:` after the key, found {}", self.found());
                return Err(self.stop(path, self.at, message, None));
            }
            self.at += 1;
            self.skip_blank(path)?;
            let value = self.value(depth + 1, &path.inner(PathSegment::Key(&key)))?;
            if seen.insert(key.clone()) {
                members.push(JsonMember { key, key_at, value });
            } else {
                let inner = path.inner(PathSegment::Key(&key));
                let message = format!("duplicate key `{}`", shown(&key));
                self.flaw(&inner, key_at, "duplicate-key", message, Some("keep one of the two"));
            }
            self.separator(path, b'}', b'"')?;
        }
    }

    fn list(&mut self, depth: usize, path: &JsonPath<'_>) -> Result<Vec<JsonNode>, JsonAbort> {
        let start = self.at;
        self.at += 1;
        let mut items = Vec::new();
        loop {
            self.skip_blank(path)?;
            match self.peek() {
                Some(b']') => {
                    self.at += 1;
                    return Ok(items);
                }
                None => return Err(self.unclosed(path, start, "list", ']')),
                Some(_) => {}
            }
            let inner = path.inner(PathSegment::Index(items.len()));
            let item = self.value(depth + 1, &inner)?;
            items.push(item);
            self.separator(path, b']', b'{')?;
        }
    }

    /// What stands between two entries. A missing comma before something that begins an entry, and one too many
    /// before the end, leave no doubt.
    fn separator(&mut self, path: &JsonPath<'_>, end: u8, begins: u8) -> Result<(), JsonAbort> {
        let after_value = self.at;
        self.skip_blank(path)?;
        match self.peek() {
            Some(b',') => {
                let comma = self.at;
                self.at += 1;
                self.skip_blank(path)?;
                if self.peek() == Some(end) {
                    self.syntax(
                        path,
                        comma,
                        "trailing comma",
                        Some("JSON does not allow a comma after the last entry"),
                    );
                }
                Ok(())
            }
            Some(byte) if byte == end => Ok(()),
            Some(byte) if byte == begins => {
                self.syntax(path, after_value, "missing comma", None);
                Ok(())
            }
            None => Ok(()),
            Some(_) => {
                let message = format!("expected `,` or `{}`, found {}", char::from(end), self.found());
                Err(self.stop(path, self.at, message, None))
            }
        }
    }

    fn number(&mut self, path: &JsonPath<'_>) -> Result<Number, JsonAbort> {
        let start = self.at;
        while matches!(self.peek(), Some(b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9')) {
            self.at += 1;
        }
        let text = self.text.get(start..self.at).unwrap_or_default();
        if let Ok(number) = serde_json::from_str::<Number>(text) {
            return Ok(number);
        }
        self.syntax(path, start, "invalid number", None);
        Ok(Number::from(0))
    }

    fn word(&mut self, path: &JsonPath<'_>) -> Result<JsonValue, JsonAbort> {
        let start = self.at;
        while matches!(self.peek(), Some(byte) if byte.is_ascii_alphanumeric() || byte == b'_') {
            self.at += 1;
        }
        match self.text.get(start..self.at) {
            Some("true") => Ok(JsonValue::Bool(true)),
            Some("false") => Ok(JsonValue::Bool(false)),
            Some("null") => Ok(JsonValue::Null),
            _ => {
                self.at = start;
                let hint = match self.peek() {
                    Some(b'\'') => Some("write texts in double quotes"),
                    Some(byte) if byte.is_ascii_alphabetic() => Some("the only words in JSON are true, false and null"),
                    _ => None,
                };
                let message = format!("expected a value, found {}", self.found());
                Err(self.stop(path, start, message, hint))
            }
        }
    }

    /// Blanks, and comments, which are reported.
    fn skip_blank(&mut self, path: &JsonPath<'_>) -> Result<(), JsonAbort> {
        loop {
            while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
                self.at += 1;
            }
            let start = self.at;
            let rest = self.bytes.get(start..).unwrap_or_default();
            if rest.starts_with(b"//") {
                self.at += rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
            } else if rest.starts_with(b"/*") {
                let Some(length) = self.text.get(start..).and_then(|rest| rest.find("*/")) else {
                    return Err(self.stop(path, start, "unterminated comment", None));
                };
                self.at += length + 2;
            } else {
                return Ok(());
            }
            self.syntax(
                path,
                start,
                "JSON does not allow comments",
                Some("a key that starts with `x-` may hold any text"),
            );
        }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// What stands here, for a message.
    fn found(&self) -> String {
        match self.text.get(self.at..).and_then(|rest| rest.chars().next()) {
            None => "the end of the file".to_owned(),
            Some(character) if character.is_control() => format!("the character U+{:04X}", u32::from(character)),
            Some(character) => format!("`{character}`"),
        }
    }

    fn unclosed(&mut self, path: &JsonPath<'_>, start: usize, what: &str, end: char) -> JsonAbort {
        self.stop(
            path,
            start,
            format!("unclosed {what}"),
            Some(match end {
                '}' => "missing `}`",
                _ => "missing `]`",
            }),
        )
    }

    fn stop(
        &mut self,
        path: &JsonPath<'_>,
        at: usize,
        message: impl Into<String>,
        hint: Option<&'static str>,
    ) -> JsonAbort {
        self.syntax(path, at, message, hint);
        JsonAbort
    }

    fn syntax(&mut self, path: &JsonPath<'_>, at: usize, message: impl Into<String>, hint: Option<&'static str>) {
        self.flaw(path, at, "syntax", message.into(), hint);
    }

    fn flaw(
        &mut self,
        path: &JsonPath<'_>,
        at: usize,
        rule: &'static str,
        message: String,
        hint: Option<&'static str>,
    ) {
        if self.flaws.len() < MAX_FLAWS {
            self.flaws.push(JsonFlaw { at, pointer: path.pointer(), rule, message, hint });
        }
    }
}

/// A key in a message: short, on one line.
pub(crate) fn shown(key: &str) -> String {
    const MOST_CHARS: usize = 60;
    let plain = |character: char| if character.is_control() { '\u{fffd}' } else { character };
    let mut text: String = key.chars().take(MOST_CHARS).map(plain).collect();
    if key.chars().nth(MOST_CHARS).is_some() {
        text.push('…');
    }
    text
}
