//! Properties: a check ends, never panics, and agrees with itself.

use super::*;
use proptest::prelude::*;
use serde_json::json;

const KEYWORDS: &[&str] = &[
    "$ref",
    "a",
    "b",
    "type",
    "enum",
    "const",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "prefixItems",
    "minItems",
    "uniqueItems",
    "minLength",
    "maximum",
    "exclusiveMinimum",
    "multipleOf",
    "anyOf",
    "oneOf",
    "allOf",
    "not",
    "$defs",
    "propertyNames",
    "pattern",
    "patternProperties",
    "minProperties",
];

/// Any JSON value, rich in the words of schemas so that it often is one.
fn anything() -> impl Strategy<Value = Value> {
    tree(KEYWORDS)
}

/// A schema without references.
fn closed_schema() -> impl Strategy<Value = Value> {
    let keywords = &KEYWORDS[1..];
    prop::collection::vec((prop::sample::select(keywords), tree(keywords)), 0..5).prop_map(object)
}

fn object(entries: Vec<(&str, Value)>) -> Value {
    Value::Object(entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

fn tree(keywords: &'static [&'static str]) -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3_i64..4).prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        prop::sample::select(vec!["", "a", "string", "integer", "object", "#", "#/$defs/a", "#/anyOf/0"])
            .prop_map(Value::from),
    ];
    let key = prop::sample::select(keywords);
    leaf.prop_recursive(5, 60, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((key.clone(), inner), 0..5).prop_map(object),
        ]
    })
}

fn fits(schema: &Value, value: &Value) -> bool {
    check(schema, value).is_empty()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn any_schema_takes_any_value(schema in anything(), value in anything()) {
        let found = check(&schema, &value);
        prop_assert!(found.len() <= MAX_VIOLATIONS + 2);
        prop_assert!(found.iter().all(|violation| !violation.message.is_empty()));
        prop_assert_eq!(found, check(&schema, &value));
        let _ = unsupported_keywords(&schema);
    }

    #[test]
    fn a_value_equals_itself(value in anything()) {
        let (constant, listed) = (json!({"const": value}), json!({"enum": [1, value]}));
        let (other, unique) = (json!({"not": {"const": value}}), json!({"uniqueItems": true}));
        prop_assert!(fits(&constant, &value) && fits(&listed, &value));
        prop_assert!(!fits(&other, &value) && !fits(&unique, &json!([value, value])));
    }

    #[test]
    fn combining_keywords_follow_logic(first in closed_schema(), second in closed_schema(), value in anything()) {
        let (left, right) = (fits(&first, &value), fits(&second, &value));
        prop_assert_eq!(fits(&json!({"allOf": [first, second]}), &value), left && right);
        prop_assert_eq!(fits(&json!({"anyOf": [first, second]}), &value), left || right);
        prop_assert_eq!(fits(&json!({"oneOf": [first, second]}), &value), left != right);
        prop_assert_eq!(fits(&json!({"not": first}), &value), !left);
    }

    #[test]
    fn numbers_compare_exactly(left in any::<i64>(), right in any::<i64>(), fraction in -0.99_f64..0.99) {
        prop_assert_eq!(fits(&json!({"minimum": left}), &json!(right)), right >= left);
        prop_assert_eq!(fits(&json!({"exclusiveMaximum": left}), &json!(right)), right < left);
        let small = left % 1000;
        prop_assert_eq!(fits(&json!({"minimum": small as f64 + fraction}), &json!(small)), fraction <= 0.0);
    }

    #[test]
    fn long_text_never_reaches_a_message(text in "[a-zA-Z0-9]{17,60}") {
        for schema in [json!({"type": "integer"}), json!({"enum": ["a"]}), json!({"maxLength": 1}), json!({"not": {}})] {
            for violation in check(&schema, &json!(text)) {
                prop_assert!(!violation.to_string().contains(&text));
            }
        }
    }
}

fn nested(levels: usize, inner: Value, wrap: impl Fn(Value) -> Value) -> Value {
    (0..levels).fold(inner, |value, _| wrap(value))
}

#[test]
fn a_deep_value_is_refused() {
    let schema = json!({"items": {"$ref": "#"}});
    assert!(fits(&schema, &nested(MAX_VALUE_DEPTH, json!(1), |value| json!([value]))));
    let found = check(&schema, &nested(MAX_VALUE_DEPTH + 1, json!(1), |value| json!([value])));
    assert_eq!(found[0].message, "is nested deeper than 64 levels");
}

#[test]
fn a_deep_schema_is_refused() {
    let schema = nested(MAX_SCHEMA_DEPTH + 1, json!(true), |schema| json!({"allOf": [schema]}));
    assert_eq!(check(&schema, &json!(1))[0].message, "needs more than 192 schemas inside one another");
    assert!(unsupported_keywords(&schema).is_empty());
}

#[test]
fn an_exponential_schema_ends() {
    let mut definitions = serde_json::Map::new();
    for level in 0..60 {
        let next = json!({"$ref": format!("#/$defs/l{}", level + 1)});
        definitions.insert(format!("l{level}"), json!({"allOf": [next, next], "anyOf": [next, next]}));
    }
    definitions.insert("l60".to_owned(), json!(true));
    let schema = json!({"$ref": "#/$defs/l0", "$defs": definitions});
    assert_eq!(check(&schema, &json!("v"))[0].message, "takes more than 1000000 steps to check");
}

#[test]
fn a_large_plain_value_is_checked() {
    let schema = json!({"items": {"type": "integer", "minimum": 0}, "uniqueItems": true});
    assert!(fits(&schema, &Value::from((0..50_000).collect::<Vec<i64>>())));
    assert!(!fits(&schema, &Value::from((-1..50_000).collect::<Vec<i64>>())));
}
