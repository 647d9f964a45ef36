//! What rules are read, which mistakes are told, and in which order rules come.

use serde_json::json;

use super::*;

fn parse(value: &Value) -> FollowupRules {
    FollowupRules::parse(value.to_string().as_bytes())
}

fn rule(change: impl FnOnce(&mut Value)) -> Value {
    let mut rule = json!({"id": "r1", "when": {"event": "PreToolUse"}, "inject": "Mind the gap."});
    change(&mut rule);
    rule
}

fn only_cause(rule: Value) -> Option<FollowupRuleProblem> {
    let found = parse(&json!({"rules": [rule]}));
    assert_eq!(found.rules.len() + found.faults.len(), 1);
    found.faults.into_iter().next().map(|fault| fault.cause)
}

#[test]
fn a_full_rule_is_read_and_written_the_same() {
    let value = json!({
        "id": "migrations.review", "when": {"event": ["PreToolUse", "PostToolUse"], "tools": "Bash", "kinds": ["execute", "write"],
        "paths": ["db/**"], "command": "migrate", "phase": "EXECUTING"},
        "inject": "{tool} {path}", "once": "turn", "priority": 7,
    });
    let found = parse(&json!({"rules": [value.clone()]}));
    assert_eq!(found.faults, []);
    assert_eq!(serde_json::to_value(&found.rules[0]).expect("writable"), value);
}

#[test]
fn what_is_left_out_has_a_default() {
    let found = parse(&json!({"rules": [rule(|_| {})]}));
    assert_eq!((found.rules[0].once, found.rules[0].priority), (ReminderFrequency::Session, 0));
}

#[test]
fn the_best_priority_comes_first_and_equals_keep_their_order() {
    let make = |id: &str, priority: i32| {
        rule(|rule| {
            rule["id"] = id.into();
            rule["priority"] = priority.into();
        })
    };
    let found = parse(&json!({"rules": [make("a", 1), make("b", 5), make("c", 5), make("d", -3)]}));
    let order: Vec<&str> = found.rules.iter().map(|rule| rule.id.as_str()).collect();
    assert_eq!(order, ["b", "c", "a", "d"]);
}

#[test]
fn every_kind_of_mistake_is_named() {
    type Expected = fn(&FollowupRuleProblem) -> bool;
    let table: [(Value, Expected); 14] = [
        (rule(|rule| rule["id"] = "a b".into()), |cause| *cause == FollowupRuleProblem::Id),
        (rule(|rule| rule["id"] = "".into()), |cause| *cause == FollowupRuleProblem::Id),
        (rule(|rule| rule["id"] = "x".repeat(65).into()), |cause| *cause == FollowupRuleProblem::Id),
        (rule(|rule| rule["inject"] = " ".into()), |cause| *cause == FollowupRuleProblem::Inject),
        (rule(|rule| rule["inject"] = "x".repeat(10_001).into()), |cause| *cause == FollowupRuleProblem::Inject),
        (rule(|rule| rule["when"]["event"] = "Stop".into()), |cause| {
            *cause == FollowupRuleProblem::Event("Stop".to_owned())
        }),
        (rule(|rule| rule["when"]["event"] = json!([])), |cause| matches!(cause, FollowupRuleProblem::Event(_))),
        (rule(|rule| rule["when"]["kinds"] = json!(["wrte"])), |cause| {
            *cause == FollowupRuleProblem::Kind("wrte".to_owned())
        }),
        (rule(|rule| rule["when"]["phase"] = "done".into()), |cause| {
            *cause == FollowupRuleProblem::Phase("done".to_owned())
        }),
        (rule(|rule| rule["when"]["result"] = "x".into()), |cause| *cause == FollowupRuleProblem::ResultBeforeCall),
        (rule(|rule| rule["when"]["command"] = "x".repeat(2_001).into()), |cause| {
            matches!(cause, FollowupRuleProblem::Pattern(_))
        }),
        (
            rule(|rule| rule["when"]["path"] = "x".into()),
            |cause| matches!(cause, FollowupRuleProblem::Shape(text) if text.contains("path")),
        ),
        (rule(|rule| rule["once"] = "daily".into()), |cause| matches!(cause, FollowupRuleProblem::Shape(_))),
        (json!(17), |cause| matches!(cause, FollowupRuleProblem::Shape(_))),
    ];
    for (rule, expected) in table {
        let cause = only_cause(rule.clone());
        assert!(cause.as_ref().is_some_and(expected), "{rule} gave {cause:?}");
    }
    assert_eq!(only_cause(rule(|rule| rule["comment"] = "fine".into())), None);
}

#[test]
fn a_broken_rule_leaves_the_others_alone() {
    let found =
        parse(&json!({"rules": [rule(|_| {}), {"id": "bad"}, rule(|_| {}), rule(|rule| rule["id"] = "r2".into())]}));
    assert_eq!(found.rules.len(), 2);
    let told: Vec<String> = found.faults.iter().map(ToString::to_string).collect();
    assert!(told[0].starts_with("followup rule `bad` is not used: missing field"), "{told:?}");
    assert_eq!(found.faults[1], FollowupRuleFault { rule: "r1".to_owned(), cause: FollowupRuleProblem::Duplicate });
}

#[test]
fn a_broken_file_is_one_fault() {
    for bytes in [&b""[..], b"[]", b"{", b"\xff", b"{}", b"{\"rules\": {}}"] {
        let found = FollowupRules::parse(bytes);
        assert_eq!((found.rules.len(), found.faults.len()), (0, 1), "{bytes:?}");
    }
    assert_eq!(FollowupRules::parse(b"\xef\xbb\xbf{\"rules\": []}"), FollowupRules::default());
    let many: Vec<Value> = (0..=MAX_RULES).map(|index| rule(|rule| rule["id"] = format!("r{index}").into())).collect();
    let found = parse(&json!({"rules": many}));
    assert_eq!((found.rules.len(), found.faults.len()), (MAX_RULES, 1));
}

#[test]
fn patterns_are_bounded_and_checked_on_demand() {
    let with = |pattern: &str| parse(&json!({"rules": [rule(|rule| rule["when"]["command"] = pattern.into())]}));
    for fine in [r"npm\s+.*test", r"\bcargo\b [^-]", "(?i)deploy", "é+"] {
        assert_eq!(with(fine).pattern_faults(), [], "{fine}");
    }
    let globs = parse(&json!({"rules": [rule(|rule| rule["when"]["paths"] = json!(["ok/**", "x".repeat(5_000)]))]}));
    assert!(matches!(globs.pattern_faults()[0].cause, FollowupRuleProblem::Path { .. }));
    for bad in ["(", "x{100000}{1000}", r"(\w{500}){500}", "(?=a)"] {
        let found = with(bad);
        assert_eq!((found.rules.len(), found.pattern_faults().len()), (1, 1), "{bad}");
    }
}
