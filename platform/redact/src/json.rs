//! Takes secrets out of a JSON value, with the names of its fields as evidence.
//!
//! Pure.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::assignment::{AssignmentForm, KeyClass, class_of};
use crate::redactor::Redactor;
use crate::value;

/// Fields that hold a name whose value stands in a field next to them.
const NAME_FIELDS: [&str; 3] = ["name", "key", "Name"];
const VALUE_FIELDS: [&str; 2] = ["value", "Value"];

impl Redactor {
    /// Redacts every string and every field name in `json`.
    ///
    /// The value of a field with a telling name (`{"password": ...}`), and of a pair such as
    /// `{"name": "DB_PASSWORD", "value": ...}`, is replaced whole if it looks like a secret.
    pub fn redact_json(&self, json: &mut Value) {
        // A list of what is left to do, because a value may be nested deeper than the stack.
        let mut left = vec![(json, None)];
        while let Some((value, class)) = left.pop() {
            match value {
                Value::String(text) => self.redact_field(text, class),
                Value::Array(items) => left.extend(items.iter_mut().map(|item| (item, class))),
                Value::Object(fields) => {
                    self.redact_names(fields);
                    let paired = self.class_of_pair(fields);
                    left.extend(fields.iter_mut().map(|(name, value)| {
                        let pair = paired.filter(|_| VALUE_FIELDS.contains(&name.as_str()));
                        (value, self.class_of_field(name).or(pair))
                    }));
                }
                Value::Null | Value::Bool(_) | Value::Number(_) => {}
            }
        }
    }

    fn redact_field(&self, text: &mut String, class: Option<KeyClass>) {
        if let Cow::Owned(redacted) = self.redact(text) {
            *text = redacted;
        }
        let secret = class.is_some_and(|class| value::is_secret(text.as_bytes(), class, AssignmentForm::Quoted));
        if secret && let Some(marker) = self.marker_for(text) {
            *text = marker;
        }
    }

    fn redact_names(&self, fields: &mut Map<String, Value>) {
        if !fields.keys().any(|name| matches!(self.redact(name), Cow::Owned(_))) {
            return;
        }
        for (name, value) in std::mem::take(fields) {
            let redacted = self.redact(&name).into_owned();
            let mut unique = redacted.clone();
            let mut number = 2;
            while fields.contains_key(&unique) {
                unique = format!("{redacted}#{number}");
                number += 1;
            }
            fields.insert(unique, value);
        }
    }

    fn class_of_field(&self, name: &str) -> Option<KeyClass> {
        if self.judges_names() { class_of(name) } else { None }
    }

    fn class_of_pair(&self, fields: &Map<String, Value>) -> Option<KeyClass> {
        let name = NAME_FIELDS.iter().find_map(|field| fields.get(*field)?.as_str())?;
        self.class_of_field(name)
    }
}
