//! Reads payload fields leniently: any accepted spelling, any type that can be understood.

use serde_json::{Map, Value};

/// The fields of a payload, or of an object inside it.
#[derive(Clone, Copy)]
pub(crate) struct Fields<'a>(&'a Map<String, Value>);

impl<'a> Fields<'a> {
    pub(crate) fn new(object: &'a Map<String, Value>) -> Self {
        Self(object)
    }

    /// The first of `keys` that is present and not null.
    pub(crate) fn value(self, keys: &[&str]) -> Option<&'a Value> {
        keys.iter().filter_map(|key| self.0.get(*key)).find(|value| !value.is_null())
    }

    pub(crate) fn has(self, key: &str) -> bool {
        self.0.contains_key(key)
    }

    /// Text, or a number or flag written as text. Empty text counts as absent.
    pub(crate) fn text(self, keys: &[&str]) -> Option<String> {
        keys.iter().filter_map(|key| as_text(self.0.get(*key)?)).find(|text| !text.is_empty())
    }

    /// Borrowed text, for comparisons.
    pub(crate) fn str(self, key: &str) -> Option<&'a str> {
        self.0.get(key)?.as_str().filter(|text| !text.is_empty())
    }

    /// A flag, also when it is written as text or as a number.
    pub(crate) fn flag(self, keys: &[&str]) -> bool {
        self.value(keys).is_some_and(|value| match value {
            Value::Bool(flag) => *flag,
            Value::Number(number) => number.as_f64().is_some_and(|number| number > 0.0),
            Value::String(text) => text.eq_ignore_ascii_case("true") || text.parse::<f64>().is_ok_and(|n| n > 0.0),
            _ => false,
        })
    }

    /// The object under `key`; one without fields if there is none.
    pub(crate) fn object(self, key: &str) -> Option<Fields<'a>> {
        self.0.get(key)?.as_object().map(Fields)
    }

    /// The first text of an array.
    pub(crate) fn first_text(self, keys: &[&str]) -> Option<String> {
        self.value(keys)?.as_array()?.iter().filter_map(as_text).find(|text| !text.is_empty())
    }

    /// A structured value that some builds send as JSON text.
    pub(crate) fn structured(self, keys: &[&str]) -> Value {
        self.value(keys).map_or(Value::Null, unfold)
    }
}

/// Unfolds JSON text that holds an object or an array; leaves every other value as it is.
pub(crate) fn unfold(value: &Value) -> Value {
    let Value::String(text) = value else {
        return value.clone();
    };
    if !text.trim_start().starts_with(['{', '[']) {
        return value.clone();
    }
    serde_json::from_str(text).unwrap_or_else(|_| value.clone())
}

fn as_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn object(value: Value) -> Map<String, Value> {
        match value {
            Value::Object(object) => object,
            _ => Map::new(),
        }
    }

    #[test]
    fn wrong_types_are_understood_or_absent() {
        let map = object(json!({
            "id": 17, "flag": "true", "count": "2", "zero": 0, "bad": {"x": 1},
            "null": null, "empty": "", "list": [null, "", "first"], "list_like": "x"
        }));
        let fields = Fields::new(&map);
        assert_eq!(fields.text(&["missing", "id"]).as_deref(), Some("17"));
        assert_eq!(fields.text(&["bad"]), None);
        assert_eq!(fields.text(&["null", "empty"]), None);
        assert!(fields.flag(&["flag"]));
        assert!(fields.flag(&["count"]));
        assert!(!fields.flag(&["zero"]));
        assert!(!fields.flag(&["bad"]));
        assert_eq!(fields.first_text(&["list"]).as_deref(), Some("first"));
        assert_eq!(fields.first_text(&["list_like"]), None);
    }

    #[test]
    fn only_json_text_is_unfolded() {
        assert_eq!(unfold(&json!("{\"a\":1}")), json!({"a": 1}));
        assert_eq!(unfold(&json!("*** Begin Patch")), json!("*** Begin Patch"));
        assert_eq!(unfold(&json!("{broken")), json!("{broken"));
        assert_eq!(unfold(&json!("42")), json!("42"));
    }
}
