//! How a key of the file is described: one value per key, from which its reading, the list of known keys and the JSON
//! Schema come.
//!
//! Pure.

use serde_json::{Map, Value, json};
use std::ops::RangeInclusive;

/// The beginning of keys that are free for the author.
pub(crate) const FREE_PREFIX: &str = "x-";

/// A key of an object.
pub(crate) trait ConfigKey: Sync {
    fn name(&self) -> &'static str;
    /// Its value, as JSON Schema.
    fn schema(&self) -> Value;
}

/// The keys that an object takes.
pub(crate) struct ObjectShape {
    pub(crate) keys: &'static [&'static dyn ConfigKey],
    pub(crate) required: &'static [&'static str],
    /// Rules about several keys at once, in the words of JSON Schema.
    pub(crate) rules: fn() -> Value,
}

impl ObjectShape {
    /// A shape without rules about several keys.
    pub(crate) const fn plain(keys: &'static [&'static dyn ConfigKey], required: &'static [&'static str]) -> Self {
        Self { keys, required, rules: || json!({}) }
    }

    pub(crate) fn names(&self) -> Vec<&'static str> {
        self.keys.iter().map(|key| key.name()).collect()
    }

    pub(crate) fn schema(&self) -> Value {
        let properties: Map<String, Value> =
            self.keys.iter().map(|key| (key.name().to_owned(), key.schema())).collect();
        let mut schema = json!({ "type": "object" });
        if !self.required.is_empty() {
            schema["required"] = json!(self.required);
        }
        if let (Value::Object(schema), Value::Object(rules)) = (&mut schema, (self.rules)()) {
            schema.extend(rules);
        }
        schema["additionalProperties"] = json!(false);
        schema["patternProperties"] = json!({ (format!("^{FREE_PREFIX}")): {} });
        schema["properties"] = Value::Object(properties);
        schema
    }
}

/// A schema with its description in front, if there is one.
pub(crate) fn described(description: &str, schema: Value) -> Value {
    let mut whole = Map::new();
    if !description.is_empty() {
        whole.insert("description".to_owned(), description.into());
    }
    if let Value::Object(schema) = schema {
        whole.extend(schema);
    }
    Value::Object(whole)
}

fn with_default(mut schema: Value, default: Option<Value>) -> Value {
    if let Some(default) = default {
        schema["default"] = default;
    }
    schema
}

/// A whole number in a range.
pub(crate) struct WholeKey {
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
    pub(crate) range: RangeInclusive<u64>,
    pub(crate) default: Option<u64>,
    /// The rule that a value outside the range breaks.
    pub(crate) rule: &'static str,
}

impl ConfigKey for WholeKey {
    fn name(&self) -> &'static str {
        self.name
    }

    fn schema(&self) -> Value {
        let schema = json!({ "type": "integer", "minimum": self.range.start(), "maximum": self.range.end() });
        described(self.description, with_default(schema, self.default.map(Value::from)))
    }
}

/// A number in a range.
pub(crate) struct NumberKey {
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
    pub(crate) range: RangeInclusive<f64>,
    pub(crate) default: Option<f64>,
    /// The rule that a value outside the range breaks.
    pub(crate) rule: &'static str,
}

impl ConfigKey for NumberKey {
    fn name(&self) -> &'static str {
        self.name
    }

    fn schema(&self) -> Value {
        let schema = json!({ "type": "number", "minimum": self.range.start(), "maximum": self.range.end() });
        described(self.description, with_default(schema, self.default.map(Value::from)))
    }
}

/// `true` or `false`.
pub(crate) struct FlagKey {
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
    pub(crate) default: bool,
}

impl ConfigKey for FlagKey {
    fn name(&self) -> &'static str {
        self.name
    }

    fn schema(&self) -> Value {
        described(self.description, json!({ "type": "boolean", "default": self.default }))
    }
}

/// One of a few words; the first is the default.
pub(crate) struct ChoiceKey<T: 'static> {
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
    pub(crate) words: &'static [(&'static str, T)],
}

impl<T: Sync> ConfigKey for ChoiceKey<T> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn schema(&self) -> Value {
        let words: Vec<&str> = self.words.iter().map(|(word, _)| *word).collect();
        described(self.description, json!({ "enum": words, "default": words.first() }))
    }
}

/// A text.
pub(crate) struct TextKey {
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
    /// What JSON Schema can check of it.
    pub(crate) form: TextForm,
}

/// What JSON Schema can check of a text; the reader knows more.
#[derive(Clone, Copy)]
pub(crate) enum TextForm {
    Any,
    NotEmpty,
    /// Not empty and at most so many characters.
    AtMost(usize),
    Pattern(&'static str),
    Example(&'static str),
}

impl TextForm {
    fn schema(self) -> Value {
        match self {
            Self::Any => json!({ "type": "string" }),
            Self::NotEmpty => json!({ "type": "string", "minLength": 1 }),
            Self::AtMost(chars) => json!({ "type": "string", "minLength": 1, "maxLength": chars }),
            Self::Pattern(pattern) => json!({ "type": "string", "pattern": pattern }),
            Self::Example(example) => json!({ "type": "string", "examples": [example] }),
        }
    }
}

impl ConfigKey for TextKey {
    fn name(&self) -> &'static str {
        self.name
    }

    fn schema(&self) -> Value {
        described(self.description, self.form.schema())
    }
}

/// A list of texts.
pub(crate) struct TextListKey {
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
    pub(crate) least: usize,
    pub(crate) most: usize,
    pub(crate) item: TextForm,
}

impl TextListKey {
    pub(crate) fn list_schema(&self) -> Value {
        let mut schema = json!({ "type": "array" });
        if self.least > 0 {
            schema["minItems"] = json!(self.least);
        }
        schema["maxItems"] = json!(self.most);
        schema["items"] = self.item.schema();
        schema
    }
}

impl ConfigKey for TextListKey {
    fn name(&self) -> &'static str {
        self.name
    }

    fn schema(&self) -> Value {
        described(self.description, self.list_schema())
    }
}

/// A text, or a list of texts.
pub(crate) struct TextOrListKey {
    pub(crate) list: TextListKey,
}

impl ConfigKey for TextOrListKey {
    fn name(&self) -> &'static str {
        self.list.name
    }

    fn schema(&self) -> Value {
        described(self.list.description, json!({ "anyOf": [self.list.item.schema(), self.list.list_schema()] }))
    }
}

/// An object with its own keys.
pub(crate) struct ObjectKey {
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
    pub(crate) shape: ObjectShape,
}

impl ConfigKey for ObjectKey {
    fn name(&self) -> &'static str {
        self.name
    }

    fn schema(&self) -> Value {
        described(self.description, self.shape.schema())
    }
}

/// A value that has its own reader.
pub(crate) struct CustomKey {
    pub(crate) name: &'static str,
    pub(crate) schema: fn() -> Value,
}

impl ConfigKey for CustomKey {
    fn name(&self) -> &'static str {
        self.name
    }

    fn schema(&self) -> Value {
        (self.schema)()
    }
}
