//! The schema, the defaults and the types that read them agree.

use super::*;
use crate::services::config::{ConfigProblem, from_flag, merge};
use crate::services::schema::{check, unsupported_keywords};
use std::collections::BTreeMap;

fn settings(values: Value) -> Result<Settings, Vec<ConfigProblem>> {
    let file = Layer::new(Origin::Global { file: "dispatch.toml".to_owned() }, values);
    merge(&[builtin_layer(), file], &builtin_schema(), &BTreeMap::new())
}

#[test]
fn the_schema_says_nothing_that_is_not_checked() {
    assert_eq!(unsupported_keywords(&builtin_schema()), [""; 0]);
}

#[test]
fn the_defaults_fit_the_schema_and_read_back() {
    let settings = settings(json!({})).unwrap();
    assert_eq!(turn_limits(&settings), TurnLimits::default());
    assert_eq!(dispatch_policy(&settings), DispatchPolicy::default());
    assert_eq!(permission_rules(&settings), []);
    assert_eq!(log_level(&settings), Level::Info);
    assert_eq!(settings.read::<u32>("tool_dispatch.max_concurrent"), Some(1));
    assert_eq!(settings.read::<u64>("limits.cancel_grace_ms"), Some(2000));
    assert_eq!(settings.read::<String>("log.level").as_deref(), Some("info"));
}

#[test]
fn every_limit_can_be_set() {
    for name in snake(&TurnLimits::default()).keys() {
        let values = settings(json!({"limits": {name: 7}})).unwrap();
        let expected = json!({ camel_name(name): 7 });
        let changed = serde_json::to_value(turn_limits(&values)).unwrap();
        assert_eq!(changed[camel_name(name)], expected[camel_name(name)], "{name}");
    }
}

#[test]
fn values_reach_their_types() {
    let values = settings(json!({
        "tool_dispatch": {"max_concurrent": 4.0, "eager": false},
        "log": {"level": "warn"},
        "permissions": {"rules": [{"permission": "shell", "verdict": "deny"}]}
    }))
    .unwrap();
    assert_eq!(dispatch_policy(&values), DispatchPolicy { max_concurrent: 4, eager: false });
    assert_eq!(log_level(&values), Level::Warn);
    let rules = permission_rules(&values);
    assert_eq!((rules.len(), rules[0].target.as_str()), (1, "*"));
}

#[test]
fn wrong_values_are_refused() {
    for values in [
        json!({"model": {"nmae": "x"}}),
        json!({"model": {"options": 1}}),
        json!({"model": {"name": ""}}),
        json!({"tool_dispatch": {"max_concurrent": -1}}),
        json!({"dispatch": {"maxConcurrent": 1}}),
        json!({"limits": {"steps": 0}}),
        json!({"limits": {"turn_ms": 4_294_967_296_u64}}),
        json!({"log": {"level": "trace"}}),
        json!({"permissions": {"rules": {}}}),
        json!({"permissions": {"rules": [{"permission": "x"}]}}),
        json!({"redact": {"patterns": [{"name": "x"}]}}),
        json!({"redact": {"allow": "x"}}),
        json!({"extensions": {"disabled": "mail"}}),
        json!({"extensions": {"mail": true}}),
        json!({"unknown": {}}),
    ] {
        assert!(settings(values.clone()).is_err(), "{values}");
    }
}

#[test]
fn a_rule_fits_the_schema_exactly_when_it_can_be_read() {
    for rule in [
        json!({"permission": "a", "verdict": "allow"}),
        json!({"permission": "a", "verdict": "ask", "target": "t", "reason": "r"}),
        json!({"permission": "a"}),
        json!({"verdict": "deny"}),
        json!({"permission": "a", "verdict": "Deny"}),
        json!({"permission": 1, "verdict": "deny"}),
        json!({"permission": "a", "verdict": "deny", "extra": 1}),
        json!({"permission": "a", "verdict": "deny", "target": null}),
        json!("deny"),
    ] {
        let fits = check(&rule_schema(), &rule).is_empty();
        assert_eq!(fits, serde_json::from_value::<PermissionRule>(rule.clone()).is_ok(), "{rule}");
    }
}

#[test]
fn names_change_spelling_both_ways() {
    for (camel, snake) in [("steps", "steps"), ("callsPerStep", "calls_per_step"), ("turnMs", "turn_ms")] {
        assert_eq!(snake_name(camel), snake);
        assert_eq!(camel_name(snake), camel);
    }
}

#[test]
fn a_default_can_be_taken_away_and_is_then_the_types_own() {
    let flag = from_flag("limits.steps=null").unwrap();
    let settings = merge(&[builtin_layer(), flag], &builtin_schema(), &BTreeMap::new()).unwrap();
    assert_eq!(settings.get("limits.steps"), None);
    assert_eq!(turn_limits(&settings), TurnLimits::default());
}
