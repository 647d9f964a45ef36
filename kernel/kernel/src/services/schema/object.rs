//! The keywords about objects.

use super::checker::{Checker, Keywords, count};
use crate::services::dotted::PathStep;
use dispatch_contracts::suggest::nearest;
use serde_json::{Map, Value};

/// Checks the entries of an object: those it must have, those it may have, how many.
pub(super) fn check<'s>(checker: &mut Checker<'s>, keywords: &'s Keywords, entries: &Map<String, Value>) {
    let least = count(keywords, "minProperties");
    checker.bounds(entries.len() as u64, least, count(keywords, "maxProperties"), "key");
    check_required(checker, keywords, entries);
    let properties = keywords.get("properties").and_then(Value::as_object);
    check_known(checker, properties, entries);
    if let Some(schema) = keywords.get("additionalProperties")
        && !has_patterns(keywords)
    {
        check_additional(checker, schema, properties, entries);
    }
    if let Some(schema) = keywords.get("propertyNames") {
        for key in entries.keys() {
            checker.descend(PathStep::Key(key.clone()), schema, &Value::from(key.as_str()));
        }
    }
}

/// Whether some keys are described by patterns, which are not understood here.
pub(super) fn has_patterns(keywords: &Keywords) -> bool {
    keywords.get("patternProperties").and_then(Value::as_object).is_some_and(|patterns| !patterns.is_empty())
}

fn check_required(checker: &mut Checker<'_>, keywords: &Keywords, entries: &Map<String, Value>) {
    let required = keywords.get("required").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    if !checker.spend(required.len()) {
        return;
    }
    for key in required.iter().filter_map(Value::as_str) {
        if !entries.contains_key(key) {
            checker.note_key(key, "is required but missing", None);
        }
    }
}

fn check_known<'s>(
    checker: &mut Checker<'s>,
    properties: Option<&'s Map<String, Value>>,
    entries: &Map<String, Value>,
) {
    let Some(properties) = properties else { return };
    if !checker.spend(properties.len()) {
        return;
    }
    for (key, schema) in properties {
        if let Some(value) = entries.get(key) {
            checker.descend(PathStep::Key(key.clone()), schema, value);
        }
    }
}

fn check_additional<'s>(
    checker: &mut Checker<'s>,
    schema: &'s Value,
    properties: Option<&'s Map<String, Value>>,
    entries: &Map<String, Value>,
) {
    let is_known = |key: &str| properties.is_some_and(|properties| properties.contains_key(key));
    for (key, value) in entries.iter().filter(|(key, _)| !is_known(key)) {
        if *schema != Value::Bool(false) {
            checker.descend(PathStep::Key(key.clone()), schema, value);
            continue;
        }
        let known = properties.map(|properties| properties.keys().map(String::as_str));
        if !checker.spend(1 + properties.map_or(0, Map::len)) {
            return;
        }
        let hint = known.and_then(|known| nearest(key, known)).map(|known| format!("did you mean `{known}`?"));
        checker.note_key(key, "is not a known key", hint);
    }
}
