//! Finds what a schema says that a check would not hear.

use super::checker::{Keywords, count, positive, type_names};
use super::reference::target;
use crate::services::dotted::{PathStep, dotted};
use serde_json::Value;
use std::collections::BTreeSet;

/// Keywords that restrict and are not understood.
const UNSUPPORTED: [&str; 16] = [
    "pattern",
    "patternProperties",
    "if",
    "then",
    "else",
    "dependentSchemas",
    "dependentRequired",
    "dependencies",
    "contains",
    "minContains",
    "maxContains",
    "unevaluatedItems",
    "unevaluatedProperties",
    "additionalItems",
    "$dynamicRef",
    "$recursiveRef",
];

/// Keywords that hold one schema.
const HOLD_ONE: [&str; 4] = ["items", "additionalProperties", "propertyNames", "not"];
/// Keywords that hold a list of schemas.
const HOLD_LIST: [&str; 4] = ["prefixItems", "anyOf", "oneOf", "allOf"];
/// Keywords that hold schemas by name.
const HOLD_NAMED: [&str; 3] = ["properties", "$defs", "definitions"];
/// Keywords that hold a count.
const HOLD_COUNT: [&str; 6] = ["minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"];
/// Keywords that hold a number.
const HOLD_NUMBER: [&str; 4] = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"];

/// The places, as dotted names in order, of keywords that restrict but that [`check`](super::check)
/// ignores: not understood, or malformed. A `$ref` that leads nowhere is among them.
pub fn unsupported_keywords(schema: &Value) -> Vec<String> {
    let mut scan = KeywordScan { open: vec![(Vec::new(), schema)], ..KeywordScan::default() };
    // References wait until every schema that stands in its own place was seen there.
    while let Some((steps, value)) = scan.open.pop().or_else(|| scan.referred.pop()) {
        if !scan.seen.insert(std::ptr::from_ref(value)) {
            continue;
        }
        match value {
            Value::Object(keywords) => scan.visit(schema, &steps, keywords),
            Value::Bool(_) => {}
            _ => _ = scan.ignored.insert(dotted(&steps)),
        }
    }
    scan.ignored.into_iter().collect()
}

/// A walk over all schemas of a document; a list instead of recursion, so that depth does not matter.
#[derive(Default)]
struct KeywordScan<'s> {
    open: Vec<(Vec<PathStep>, &'s Value)>,
    referred: Vec<(Vec<PathStep>, &'s Value)>,
    seen: BTreeSet<*const Value>,
    ignored: BTreeSet<String>,
}

impl<'s> KeywordScan<'s> {
    fn visit(&mut self, root: &'s Value, steps: &[PathStep], keywords: &'s Keywords) {
        for (keyword, value) in keywords {
            let place = || below(steps, [PathStep::Key(keyword.clone())]);
            if UNSUPPORTED.contains(&keyword.as_str()) || is_malformed(keywords, keyword, value) {
                self.ignored.insert(dotted(&place()));
            } else if keyword == "$ref" {
                self.follow(root, place(), value);
            } else {
                self.open_held(place(), keyword, value);
            }
        }
    }

    fn open_held(&mut self, place: Vec<PathStep>, keyword: &str, value: &'s Value) {
        match value {
            Value::Array(schemas) if HOLD_LIST.contains(&keyword) => {
                let held = schemas.iter().enumerate();
                self.open.extend(held.map(|(index, schema)| (below(&place, [PathStep::Index(index)]), schema)));
            }
            Value::Object(schemas) if HOLD_NAMED.contains(&keyword) => {
                let held = schemas.iter();
                self.open.extend(held.map(|(name, schema)| (below(&place, [PathStep::Key(name.clone())]), schema)));
            }
            _ if HOLD_ONE.contains(&keyword) => self.open.push((place, value)),
            _ => {}
        }
    }

    fn follow(&mut self, root: &'s Value, place: Vec<PathStep>, reference: &'s Value) {
        let found = reference.as_str().and_then(|text| Some((text, target(root, text)?)));
        match found {
            Some((text, schema)) => {
                let names = text.split('/').skip(1);
                let steps = names.map(|name| PathStep::Key(name.replace("~1", "/").replace("~0", "~"))).collect();
                self.referred.push((steps, schema));
            }
            None => _ = self.ignored.insert(dotted(&place)),
        }
    }
}

fn is_malformed(keywords: &Keywords, keyword: &str, value: &Value) -> bool {
    let is_list_of_text = |value: &Value| value.as_array().is_some_and(|items| items.iter().all(Value::is_string));
    match keyword {
        "type" => type_names(Some(value)).is_empty(),
        "enum" => !value.is_array(),
        "required" => !is_list_of_text(value),
        "uniqueItems" => !value.is_boolean(),
        "multipleOf" => positive(Some(value)).is_none(),
        _ if HOLD_COUNT.contains(&keyword) => count(keywords, keyword).is_none(),
        _ if HOLD_NUMBER.contains(&keyword) => !value.is_number(),
        _ if HOLD_LIST.contains(&keyword) => value.as_array().is_none_or(Vec::is_empty),
        _ if HOLD_NAMED.contains(&keyword) => !value.is_object(),
        _ => false,
    }
}

fn below<const N: usize>(steps: &[PathStep], more: [PathStep; N]) -> Vec<PathStep> {
    steps.iter().cloned().chain(more).collect()
}
