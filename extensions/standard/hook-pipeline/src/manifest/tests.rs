//! A manifest is read leniently: what is wrong is said and what is right still counts.

use dispatch_hook_module::phase::{Phase, PhaseMode};
use proptest::prelude::*;
use serde_json::json;

use super::*;

fn parse(value: &Value) -> (PipelineManifest, Vec<String>) {
    PipelineManifest::parse(value.to_string().as_bytes())
}

#[test]
fn the_whole_shape_is_read() {
    let (manifest, problems) = parse(&json!({
        "version": 1,
        "modules": [{"name": "session", "enabled": true}, {"name": "x", "enabled": false, "priority": 7, "critical": true, "hotPathSafe": false}, "y"],
        "budgets": {"PreToolUse": 100, "stop": 200},
        "rewriteOwner": "x",
        "phasePolicy": {"PLANNING": {"allowTools": "*", "mode": "warn"}},
        "enforcePhases": true,
        "unattended": "deny"
    }));
    assert_eq!(problems, Vec::<String>::new());
    assert_eq!(manifest.modules.len(), 3);
    assert_eq!(manifest.modules[1].priority, Some(7));
    assert!(!manifest.modules[1].enabled && manifest.modules[2].enabled);
    assert_eq!(manifest.budget_ms(&EventName::PreToolUse), 100);
    assert_eq!(manifest.budget_ms(&EventName::Stop), 200);
    assert_eq!(manifest.phase_policy[&Phase::Planning].mode, PhaseMode::Warn);
    assert_eq!(manifest.phase_policy[&Phase::Complete].mode, PhaseMode::Deny);
    assert_eq!(manifest.unattended, Some(Unattended::Deny));
}

#[test]
fn budgets_default_by_event() {
    let manifest = PipelineManifest::default();
    let table = [
        (EventName::PreToolUse, 300),
        (EventName::PostToolUse, 500),
        (EventName::SessionStart, 5_000),
        (EventName::Stop, 5_000),
        (EventName::UserPromptSubmit, 1_000),
        (EventName::SubagentStop, 1_000),
        (EventName::Other("Notification".to_owned()), 1_000),
    ];
    for (event, budget) in table {
        assert_eq!(manifest.budget_ms(&event), budget, "{event}");
    }
}

#[test]
fn a_broken_manifest_gives_the_defaults_and_says_so() {
    for bytes in [&b""[..], b"{", b"[]", b"null", b"\xff\xfe", b"{\"modules\": 7}"] {
        let (manifest, problems) = PipelineManifest::parse(bytes);
        assert_eq!(manifest, PipelineManifest::default(), "{bytes:?}");
        assert_eq!(problems.len(), 1, "{bytes:?}");
    }
}

#[test]
fn one_bad_field_does_not_lose_the_others() {
    let (manifest, problems) = parse(&json!({
        "modules": [{"name": "a"}, {"enabled": true}, 7, {"name": "a", "priority": 1}],
        "budgets": {"PreToolUse": -1, "Stop": 40},
        "enforcePhases": "yes", "unattended": "maybe", "phasePolicy": {"DONE": {}, "PLANNING": 1},
    }));
    assert_eq!(manifest.modules, [ModuleEntry::enabled("a")]);
    assert_eq!(manifest.budget_ms(&EventName::PreToolUse), 300);
    assert_eq!(manifest.budget_ms(&EventName::Stop), 40);
    assert!(!manifest.enforce_phases);
    assert_eq!(problems.len(), 8, "{problems:#?}");
}

#[test]
fn an_empty_list_of_modules_is_a_wish_and_is_kept() {
    assert_eq!(parse(&json!({"modules": []})).0.modules, []);
}

#[test]
fn what_is_written_is_read_back() {
    let text = serde_json::to_value(PipelineManifest::default()).expect("serialisable");
    assert_eq!(parse(&text), (PipelineManifest::default(), vec![]));
}

/// Fields as people write them, right and wrong.
fn any_manifest() -> impl Strategy<Value = Value> {
    let entry = |name: &'static str, choices: Vec<Value>| {
        let choice = proptest::option::of(proptest::sample::select(choices));
        choice.prop_map(move |value| value.map(|value| (name.to_owned(), value)))
    };
    let module = json!({"name": "session", "enabled": true, "priority": 3, "critical": null, "later": 1});
    (
        entry("version", vec![json!(1), json!("1"), Value::Null]),
        entry("modules", vec![json!([]), json!([module]), json!(["session"]), json!([module, module]), Value::Null]),
        entry("budgets", vec![json!({"PreToolUse": 5}), json!({"preToolUse": 5}), json!({"Stop": 0}), json!([])]),
        entry("rewriteOwner", vec![json!("x"), json!(1)]),
        entry(
            "phasePolicy",
            vec![json!({"PLANNING": {"allowTools": ["a"]}}), json!({"NO": {}}), json!({"PLANNING": 1})],
        ),
        entry("enforcePhases", vec![json!(true), json!("yes"), Value::Null]),
        entry("unattended", vec![json!("deny"), json!("maybe"), Value::Null]),
        entry("$schema", vec![json!("x")]),
    )
        .prop_map(|fields| {
            let fields = [fields.0, fields.1, fields.2, fields.3, fields.4, fields.5, fields.6, fields.7];
            Value::Object(fields.into_iter().flatten().collect())
        })
}

proptest! {
    #[test]
    fn reading_in_one_go_and_field_by_field_agree(value in any_manifest()) {
        let fields = value.as_object().unwrap();
        let (slowly, problems) = PipelineManifest::from_fields(fields);
        match Flawless::parse(value.to_string().as_bytes()) {
            Some(at_once) => prop_assert_eq!((at_once, problems), (slowly, Vec::new())),
            None => prop_assert!(!problems.is_empty() || fields["modules"] == json!(["session"])),
        }
    }
}
