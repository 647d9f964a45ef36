//! JSON values lose their secrets, by content and by the names of their fields.

use dispatch_redact::Redactor;
use serde_json::{Value, json};

use crate::samples;

fn check(mut value: Value, expected: Value) {
    let redactor = Redactor::builtin();
    redactor.redact_json(&mut value);
    assert_eq!(value, expected);
    redactor.redact_json(&mut value);
    assert_eq!(value, expected, "not idempotent");
}

#[test]
fn a_revealing_name_condemns_a_secret_value() {
    check(
        json!({ "password": "hunter2hunter2", "user": "hunter2hunter2" }),
        json!({ "password": "[REDACTED]", "user": "hunter2hunter2" }),
    );
    check(
        json!({ "env": [{ "name": "DB_PASSWORD", "value": "hunter2hunter2" }, { "name": "HOME1", "value": "hunter2hunter2" }] }),
        json!({ "env": [{ "name": "DB_PASSWORD", "value": "[REDACTED]" }, { "name": "HOME1", "value": "hunter2hunter2" }] }),
    );
    check(json!({ "apiKey": ["a1b2c3d4e5f6a7b8", 4, null, true] }), json!({ "apiKey": ["[REDACTED]", 4, null, true] }));
}

#[test]
fn what_is_no_secret_stays() {
    let value = json!({
        "properties": { "password": { "type": "string", "minLength": 8 } },
        "token": "string",
        "secret": "${SECRET_1}",
        "api_key": "your-api-key-here",
        "password": "",
        "max_tokens": 4096,
        "token_type": "bearer",
    });
    check(value.clone(), value);
}

#[test]
fn secrets_go_from_strings_and_from_names() {
    for sample in samples::all(11) {
        let mut value = json!({ "a": [{ "b": format!("x {} y", sample.text) }], format!("k {}", sample.text): 1 });
        Redactor::builtin().redact_json(&mut value);
        assert!(!value.to_string().contains(&sample.secret), "{}", sample.kind);
        assert_eq!(value.as_object().map(|fields| fields.len()), Some(2));
    }
}

#[test]
fn two_names_that_become_equal_keep_both_values() {
    let mut random = samples::SeededRandom::new(12);
    let (one, two) = (format!("ghp_{}", random.alnum(36)), format!("ghp_{}", random.alnum(36)));
    let mut value = json!({ one: 1, two: 2 });
    Redactor::builtin().redact_json(&mut value);
    assert_eq!(value, json!({ "[REDACTED]": 1, "[REDACTED]#2": 2 }));
}

#[test]
fn depth_does_not_matter() {
    let mut value = json!({ "password": "hunter2hunter2" });
    for _ in 0..20_000 {
        value = Value::Array(vec![value]);
    }
    Redactor::builtin().redact_json(&mut value);
    let mut at = value;
    while let Value::Array(mut items) = at {
        at = items.remove(0);
    }
    assert_eq!(at, json!({ "password": "[REDACTED]" }));
}
