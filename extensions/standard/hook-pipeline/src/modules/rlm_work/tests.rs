//! Tables of rules, calls and outputs.

use dispatch_hook_module::Decision;
use dispatch_hook_module::testing::TestInvocation;
use serde_json::{Value, json};

use super::policy::DelegationPolicy;
use super::*;

const POLICY: &str = ".ai/hooks/rlm-policy.json";
const FOLDER: &str = ".ai/tmp/a3f0c812/rlm-work/output/sa/reader/a01";

fn rule(matches: Value) -> Value {
    json!({"id": "big-read", "match": matches, "require": {"subagent": ["reader"]}, "action": "deny", "message": "Too big."})
}

fn policy(rules: &[Value]) -> String {
    json!({ "rules": rules }).to_string()
}

fn denied(scene: TestInvocation, matches: Value) -> bool {
    let scene = scene.file(POLICY, policy(&[rule(matches)]));
    let action = scene.handle(&RlmWork);
    assert!(scene.notes.take().1.is_empty());
    match action.decision {
        Some(Decision::Deny) => {
            assert_eq!(action.code.as_deref(), Some("RLM-big-read"));
            assert!(
                action.deny_reason.is_some_and(|reason| reason.starts_with("Too big.") && reason.contains("reader"))
            );
            true
        }
        other => {
            assert_eq!((other, action), (None, HookAction::none()));
            false
        }
    }
}

fn read(path: &str) -> TestInvocation {
    TestInvocation::before_tool("Read", json!({"file_path": path}))
}

#[test]
fn each_condition_holds_or_not() {
    let table: Vec<(TestInvocation, Value, bool)> = vec![
        (read("/repo/a"), json!({"tools": ["Read", "Grep"]}), true),
        (read("/repo/a"), json!({"tools": ["Write"]}), false),
        (read("/repo/a"), json!({"tools": ["read"]}), false),
        (read("/repo/a"), json!({"tools": []}), false),
        (read("/repo/a"), json!({"kinds": ["read"]}), true),
        (read("/repo/a"), json!({"kinds": ["write", "execute"]}), false),
        (read("/repo/logs/x/y.log"), json!({"paths": ["logs/**"]}), true),
        (read("/repo/logs.txt"), json!({"paths": ["logs/**"]}), false),
        (read("/logs/x"), json!({"paths": ["logs/**", "**"]}), false),
        (TestInvocation::command("cat logs/a.log"), json!({"paths": ["**/*.log"]}), true),
        (TestInvocation::command("cargo test --workspace"), json!({"command": "^cargo (test|bench)\\b"}), true),
        (TestInvocation::command("cargo build"), json!({"command": "^cargo (test|bench)\\b"}), false),
        (TestInvocation::command("make \u{e9}.x"), json!({"command": "make ..\\.x"}), true),
        (read("/repo/a"), json!({"command": ".*"}), false),
        (TestInvocation::command("cargo test"), json!({"command": "test", "kinds": ["execute"]}), true),
        (TestInvocation::command("cargo test"), json!({"command": "test", "kinds": ["write"]}), false),
        (read("/repo/big").file("big", "x".repeat(11)), json!({"bytesOver": 10}), true),
        (read("/repo/big").file("big", "x".repeat(10)), json!({"bytesOver": 10}), false),
        (read("/repo/gone"), json!({"bytesOver": 10}), false),
        (read("/repo/dir").file("dir/a", "x".repeat(50)), json!({"bytesOver": 10}), false),
        (
            TestInvocation::before_tool("Read", json!({"file_path": "/repo/b", "limit": 9})).file("b", "x".repeat(50)),
            json!({"bytesOver": 10}),
            false,
        ),
        (
            TestInvocation::before_tool("Write", json!({"file_path": "/repo/b", "content": "x".repeat(50)})),
            json!({"bytesOver": 40}),
            true,
        ),
    ];
    for (index, (scene, matches, expected)) in table.into_iter().enumerate() {
        let shown = format!("{index}: {matches} {}", scene.event.tool_input);
        assert_eq!(denied(scene, matches), expected, "{shown}");
    }
}

fn called(scene: TestInvocation, tool: &str, kind: &str, path: &str) -> TestInvocation {
    scene.record(RecordType::ToolCall, json!({"tool": tool, "kind": kind, "paths": [{"path": path, "access": "read"}]}))
}

#[test]
fn calls_are_counted_in_this_turn_only() {
    let matches = json!({"tools": ["Read"], "paths": ["src/**"], "callsPerTurnOver": 2});
    let two = |scene| called(called(scene, "Read", "read", "/repo/src/a"), "Read", "read", "/repo/src/b");
    assert!(denied(two(read("/repo/src/c")), matches.clone()));
    assert!(!denied(called(read("/repo/src/c"), "Read", "read", "/repo/src/a"), matches.clone()));
    let others = called(called(read("/repo/src/c"), "Read", "read", "/repo/doc/a"), "Grep", "search", "/repo/src/b");
    assert!(!denied(others, matches.clone()));
    let last_turn = two(read("/repo/src/c")).with(|scene| scene.ids.turn_id = 2);
    assert!(!denied(last_turn, matches.clone()));
    let subagents = two(read("/repo/src/c").with(|scene| scene.ids.agent_id = "a01".to_owned()))
        .with(|scene| scene.ids.agent_id = "u00".to_owned());
    assert!(!denied(subagents, matches));
}

#[test]
fn the_rules_bind_the_main_agent_and_never_the_delegation_itself() {
    let everything = json!({"callsPerTurnOver": 0});
    assert!(denied(read("/repo/a"), everything.clone()));
    assert!(!denied(read("/repo/a").with(|scene| scene.ids.agent_id = "a01".to_owned()), everything.clone()));
    assert!(!denied(TestInvocation::before_tool("Agent", json!({"prompt": "x"})), everything));
}

#[test]
fn actions_are_deny_ask_or_warn_and_the_strongest_wins() {
    let with = |id: &str, action: &str| json!({"id": id, "match": {"kinds": ["read"]}, "require": {"subagent": ["r"]}, "action": action});
    let handle = |rules: &[Value]| read("/repo/a").file(POLICY, policy(rules)).handle(&RlmWork);
    let ask = handle(&[with("w", "warn"), with("a", "ask")]);
    assert_eq!((ask.decision, ask.code.as_deref()), (Some(Decision::Ask), Some("RLM-a")));
    assert_eq!((ask.warnings.len(), ask.additional_context.len()), (1, 1));
    assert_eq!(ask.emit_events.len(), 2);
    let deny = handle(&[with("a", "ask"), with("d", "deny"), with("e", "deny")]);
    assert_eq!((deny.decision, deny.code.as_deref()), (Some(Decision::Deny), Some("RLM-d")));
    let excused = read("/repo/a").file(POLICY, policy(&[with("a", "deny")])).excused("RLM-a");
    assert_eq!(excused.handle(&RlmWork), HookAction::none());
}

#[test]
fn a_requirement_goes_on_record_once_per_work() {
    let rules = policy(&[rule(json!({"kinds": ["read"]}))]);
    let first = read("/repo/a").file(POLICY, rules.clone()).handle(&RlmWork);
    assert_eq!(first.emit_events.len(), 1);
    assert_eq!(
        (&first.emit_events[0].kind, &first.emit_events[0].data["rule"]),
        (&RecordType::RlmRequired, &json!("big-read"))
    );
    let again =
        read("/repo/a").file(POLICY, rules.clone()).record(RecordType::RlmRequired, json!({"rule": "big-read"}));
    let action = again.handle(&RlmWork);
    assert_eq!((action.emit_events.len(), action.decision), (0, Some(Decision::Deny)));
    let new_work = again.with(|scene| scene.ids.work_id = "w002".to_owned());
    assert_eq!(new_work.handle(&RlmWork).emit_events.len(), 1);
}

#[test]
fn a_satisfied_rule_is_lifted_for_its_work_only() {
    let scene = |work: &str| {
        read("/repo/a")
            .file(POLICY, policy(&[rule(json!({"kinds": ["read"]}))]))
            .state(json!({"rlm": {"satisfied": {"big-read": work}}}))
    };
    assert_eq!(scene("w001").handle(&RlmWork), HookAction::none());
    assert_eq!(scene("w002").handle(&RlmWork).decision, Some(Decision::Deny));
}

#[test]
fn one_broken_rule_costs_one_rule_and_is_told() {
    let good = rule(json!({"kinds": ["read"]}));
    let cases = [
        (json!({"id": "x"}), "missing field"),
        (json!({"id": "x y", "match": {"tools": ["a"]}, "require": {"subagent": ["r"]}, "action": "deny"}), "`id`"),
        (json!({"id": "x", "match": {}, "require": {"subagent": ["r"]}, "action": "deny"}), "`match` is empty"),
        (
            json!({"id": "x", "match": {"tool": ["a"]}, "require": {"subagent": ["r"]}, "action": "deny"}),
            "unknown field",
        ),
        (
            json!({"id": "x", "match": {"tools": ["a"]}, "require": {"subagent": []}, "action": "deny"}),
            "`require.subagent`",
        ),
        (
            json!({"id": "x", "match": {"tools": ["a"]}, "require": {"subagent": ["r"]}, "action": "stop"}),
            "unknown variant",
        ),
        (good.clone(), "earlier rule"),
    ];
    for (bad, expected) in cases {
        let (policy, problems) = DelegationPolicy::parse(policy(&[good.clone(), bad.clone()]).as_bytes());
        assert_eq!(policy.rules.len(), 1);
        assert!(problems.len() == 1 && problems[0].contains(expected), "{bad}: {problems:?}");
    }
    for text in ["", "{", "[]", r#"{"rules": 1}"#, "\u{feff}{"] {
        let scene = read("/repo/a").file(POLICY, text);
        assert_eq!(scene.handle(&RlmWork), HookAction::none());
        assert_eq!(scene.notes.take().1.len(), 1, "{text}");
    }
    let many: Vec<Value> = (0..300).map(|id| json!({"id": id.to_string(), "match": {"tools": ["a"]}, "require": {"subagent": ["r"]}, "action": "deny"})).collect();
    let (policy, problems) = DelegationPolicy::parse(policy(&many).as_bytes());
    assert_eq!((policy.rules.len(), problems.len()), (200, 1));
    assert_eq!(read("/repo/a").handle(&RlmWork), HookAction::none(), "no policy");
}

#[test]
fn a_pattern_is_compiled_only_when_its_rule_is_reached() {
    for pattern in ["(", "a{1000000}", "(a{500}){500}", "(?=a)"] {
        let reached = TestInvocation::command("aaaa").file(POLICY, policy(&[rule(json!({"command": pattern}))]));
        assert_eq!(reached.handle(&RlmWork), HookAction::none());
        assert_eq!(reached.notes.take().1.len(), 1, "{pattern}");
        let matches = json!({"command": pattern, "kinds": ["write"]});
        let not_reached = TestInvocation::command("aaaa").file(POLICY, policy(&[rule(matches)]));
        assert_eq!(not_reached.handle(&RlmWork), HookAction::none());
        assert!(not_reached.notes.take().1.is_empty(), "{pattern}");
    }
    let bomb =
        TestInvocation::command(&"a".repeat(50_000)).file(POLICY, policy(&[rule(json!({"command": "^(a+)+$|b"}))]));
    assert_eq!(bomb.handle(&RlmWork).decision, Some(Decision::Deny));
}

fn subagent(event: EventName, output: Value) -> TestInvocation {
    let mut owed = rule(json!({"kinds": ["read"]}));
    if !output.is_null() {
        owed["require"]["output"] = output;
    }
    TestInvocation::new(event).file(POLICY, policy(&[owed])).with(|scene| {
        scene.event.agent_type = Some("reader".to_owned());
        scene.event.agent_id = Some("host-1".to_owned());
        scene.ids.agent_id = "a01".to_owned();
    })
}

#[test]
fn the_start_tells_a_required_subagent_where_its_output_goes() {
    let schema = json!({"type": "object", "required": ["facts", "sources"]});
    let action = subagent(EventName::SubagentStart, json!({"glob": "*.json", "schema": schema})).handle(&RlmWork);
    let text = &action.additional_context[0].value;
    for part in [FOLDER, "*.json", "one JSON object with facts, sources", "big-read", "Too big."] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(action.files[0].path, "sa/reader/a01/contract.md");
    let other =
        subagent(EventName::SubagentStart, Value::Null).with(|scene| scene.event.agent_type = Some("other".to_owned()));
    assert_eq!(other.handle(&RlmWork), HookAction::none());
    let met =
        subagent(EventName::SubagentStart, Value::Null).state(json!({"rlm": {"satisfied": {"big-read": "w001"}}}));
    assert_eq!(met.handle(&RlmWork), HookAction::none());
}

#[test]
fn a_delivered_output_lifts_the_rule() {
    let schema = json!({"type": "object", "required": ["facts"], "properties": {"facts": {"type": "array", "items": {"type": "string"}}}});
    let stop = |output: Value| subagent(EventName::SubagentStop, output);
    let action = stop(json!({"glob": "*.json", "schema": schema}))
        .file(&format!("{FOLDER}/r.json"), r#"{"facts": ["a"]}"#)
        .file(&format!("{FOLDER}/contract.md"), "ours")
        .handle(&RlmWork);
    assert_eq!(action.decision, None);
    assert_eq!(action.emit_events[0].kind, RecordType::RlmSatisfied);
    assert_eq!(action.emit_events[0].data["rule"], "big-read");
    assert_eq!(action.state_patch, Some(json!({"rlm": {"satisfied": {"big-read": "w001"}}})));
    assert_eq!(action.register_artifacts[0].path, format!("{FOLDER}/r.json"));
    assert_eq!(action.register_artifacts[0].sha256.as_deref().map(str::len), Some(64));
    let without_output = stop(Value::Null).handle(&RlmWork);
    assert_eq!(without_output.emit_events.len(), 1, "a rule that asks for no files is met by the subagent");
    let nested = stop(json!({"glob": "**/*.json"})).file(&format!("{FOLDER}/a/b/r.json"), "1").handle(&RlmWork);
    assert_eq!(nested.emit_events.len(), 1);
    let named = stop(json!({"glob": "*.json", "schema": "facts.json"}))
        .file(".ai/hooks/schema/facts.json", schema.to_string())
        .file(&format!("{FOLDER}/r.json"), "{}");
    assert_eq!(named.handle(&RlmWork).decision, Some(Decision::Deny));
    let escaping = stop(json!({"glob": "*.json", "schema": "../../../x.json"})).file(&format!("{FOLDER}/r.json"), "{}");
    assert_eq!(escaping.handle(&RlmWork).emit_events.len(), 1);
    assert_eq!(escaping.notes.take().1.len(), 1, "a schema that cannot be read is told");
}

#[test]
fn an_output_that_is_owed_holds_the_stop_up_twice() {
    let output = json!({"glob": "*.json", "schema": {"type": "object", "required": ["facts"]}});
    let stop = || subagent(EventName::SubagentStop, output.clone());
    let reason = |scene: TestInvocation| {
        let action = scene.handle(&RlmWork);
        assert_eq!((action.decision, action.code.as_deref()), (Some(Decision::Deny), Some("RLM-OUTPUT")));
        assert!(action.emit_events.is_empty() && action.state_patch.is_none());
        action.deny_reason.expect("a reason")
    };
    assert!(reason(stop()).contains("no file matches `*.json`"));
    assert!(reason(stop().file(&format!("{FOLDER}/r.txt"), "x")).contains("no file matches"));
    assert!(reason(stop().file(&format!("{FOLDER}/r.json"), "{")).contains("r.json is not JSON"));
    assert!(reason(stop().file(&format!("{FOLDER}/r.json"), "{}")).contains("r.json: .facts is missing"));
    let blocked = json!({"decision": "deny", "code": "RLM-OUTPUT"});
    let twice = stop().record(RecordType::HookRun, blocked.clone()).record(RecordType::HookRun, blocked);
    let action = twice.handle(&RlmWork);
    assert_eq!((action.decision, action.warnings.len(), action.state_patch), (None, 1, None));
    let active = stop().with(|scene| scene.event.stop_hook_active = true).handle(&RlmWork);
    assert_eq!(active.decision, None);
}

#[test]
fn schemas_are_checked_where_they_say_something() {
    let table = [
        (json!({"type": "object"}), json!([]), vec!["the document must be object"]),
        (json!({"type": ["string", "null"]}), json!(null), vec![]),
        (json!({"properties": {"a": {"type": "integer"}}}), json!({"a": 1.5}), vec![".a must be integer"]),
        (json!({"properties": {"a": {"type": "integer"}}}), json!({"a": 2.0}), vec![]),
        (json!({"required": ["a", "b"]}), json!({"b": 1}), vec![".a is missing"]),
        (json!({"items": {"enum": ["x", 1]}}), json!(["x", 1, "y"]), vec!["[2] must be one of [\"x\",1]"]),
        (json!({"minItems": 1}), json!([]), vec!["the document must have at least 1"]),
        (json!({"maxLength": 2}), json!("\u{e9}\u{e9}\u{e9}"), vec!["the document must have at most 2"]),
        (json!({"minimum": 3}), json!(2), vec!["the document must be at least 3"]),
        (json!({"const": 1}), json!(2), vec!["the document must be 1"]),
        (
            json!({"properties": {"a": {}}, "additionalProperties": false}),
            json!({"a": 1, "b": 1}),
            vec![".b is not allowed"],
        ),
        (json!({"oneOf": []}), json!(1), vec![]),
        (json!(true), json!(1), vec![]),
    ];
    for (schema, value, expected) in table {
        assert_eq!(schema::violations(&schema, &value), expected, "{schema} {value}");
    }
    let deep = (0..200).fold(json!({}), |inner, _| json!({"items": inner}));
    let value = (0..100).fold(json!([]), |inner, _| json!([inner]));
    assert!(schema::violations(&deep, &value).is_empty());
}
