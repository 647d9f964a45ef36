//! When reminders are given, and when not.

use dispatch_hook_module::testing::TestInvocation;
use proptest::prelude::*;

use super::*;
use crate::test_session::TestSession;

const RULES: &str = ".ai/hooks/followup-rules.json";

fn rule(id: &str, when: Value, inject: &str) -> Value {
    json!({"id": id, "when": when, "inject": inject})
}

fn with_rules(scene: TestInvocation, rules: &[Value]) -> TestInvocation {
    scene.file(RULES, json!({"rules": rules}).to_string())
}

fn told(scene: TestInvocation, rules: &[Value]) -> Vec<String> {
    let action = with_rules(scene, rules).handle(&MemoryActivation);
    assert_eq!((action.decision, action.warnings.as_slice()), (None, &[][..]));
    action.additional_context.into_iter().map(|note| note.value).collect()
}

fn after(scene: TestInvocation, response: Value) -> TestInvocation {
    scene.with(|scene| {
        scene.event.name = EventName::PostToolUse;
        scene.event.tool_response = response;
    })
}

fn write(path: &str) -> TestInvocation {
    TestInvocation::before_tool("Write", json!({"file_path": path, "content": ""}))
}

#[test]
fn every_condition_has_to_hold() {
    let executing = |scene: TestInvocation| scene.state(json!({"core": {"phase": "EXECUTING"}}));
    let failing =
        || after(TestInvocation::command("npm test"), json!({"stderr": "ENOENT: no such file\nmore", "code": 2}));
    let table: Vec<(TestInvocation, Value, bool)> = vec![
        (TestInvocation::command("ls"), json!({"event": "PreToolUse"}), true),
        (TestInvocation::command("ls"), json!({"event": "PostToolUse"}), false),
        (TestInvocation::command("ls"), json!({"event": ["pre_tool_use", "PostToolUse"]}), true),
        (TestInvocation::command("ls"), json!({"event": "PreToolUse", "tools": ["Bash"]}), true),
        (TestInvocation::command("ls"), json!({"event": "PreToolUse", "tools": ["Write", "Ba*"]}), true),
        (TestInvocation::command("ls"), json!({"event": "PreToolUse", "tools": "bash"}), false),
        (TestInvocation::command("ls"), json!({"event": "PreToolUse", "tools": []}), false),
        (TestInvocation::command("ls"), json!({"event": "PreToolUse", "kinds": ["execute"]}), true),
        (TestInvocation::command("ls"), json!({"event": "PreToolUse", "kinds": ["write"]}), false),
        (TestInvocation::before_tool("Mystery", json!({})), json!({"event": "PreToolUse", "kinds": ["other"]}), true),
        (write("/repo/db/migrations/1.sql"), json!({"event": "PreToolUse", "paths": ["db/**"]}), true),
        (write("/repo/src/a.rs"), json!({"event": "PreToolUse", "paths": ["db/**"]}), false),
        (TestInvocation::command("echo x > db/a.sql"), json!({"event": "PreToolUse", "paths": ["db/*.sql"]}), true),
        (write("/etc/hosts"), json!({"event": "PreToolUse", "paths": ["/etc/*"]}), true),
        (
            TestInvocation::command("npm run deploy"),
            json!({"event": "PreToolUse", "command": r"npm\s+.*deploy\b"}),
            true,
        ),
        (TestInvocation::command("npm test"), json!({"event": "PreToolUse", "command": "deploy"}), false),
        (write("/repo/a"), json!({"event": "PreToolUse", "command": "."}), false),
        (executing(TestInvocation::command("ls")), json!({"event": "PreToolUse", "phase": "executing"}), true),
        (TestInvocation::command("ls"), json!({"event": "PreToolUse", "phase": "EXECUTING"}), false),
        (failing(), json!({"event": "PostToolUse", "result": "(?m)^ENOENT"}), true),
        (failing(), json!({"event": "PostToolUse", "result": "EACCES"}), false),
        (failing(), json!({"event": "PostToolUse", "result": "ENOENT", "command": "npm", "tools": "Bash"}), true),
        (failing(), json!({"event": "PostToolUse", "result": "ENOENT", "command": "cargo"}), false),
        (
            after(TestInvocation::command("x"), json!("plain text")),
            json!({"event": "PostToolUse", "result": "plain"}),
            true,
        ),
        (after(TestInvocation::command("x"), json!(null)), json!({"event": "PostToolUse", "result": ".*"}), false),
    ];
    for (scene, when, expected) in table {
        let found = told(scene, &[rule("r", when.clone(), "hint")]);
        assert_eq!(!found.is_empty(), expected, "{when}");
    }
}

#[test]
fn an_error_in_place_of_a_result_is_a_result() {
    let scene =
        after(TestInvocation::command("x"), Value::Null).with(|scene| scene.event.error = Some("timed out".to_owned()));
    assert_eq!(told(scene, &[rule("r", json!({"event": "PostToolUse", "result": "timed out"}), "hint")]), ["hint"]);
}

#[test]
fn placeholders_take_the_path_that_matched() {
    let scene = TestInvocation::command("cp src/a.rs db/b.sql").state(json!({"intents": {"active": "INT-7"}}));
    let found = told(
        scene,
        &[rule("r", json!({"event": "PreToolUse", "paths": "db/*"}), "{intent}: {tool} {path} by {command}")],
    );
    assert_eq!(found, ["INT-7: Bash db/b.sql by cp src/a.rs db/b.sql"]);
}

#[test]
fn the_best_come_first_and_stay_within_the_bound() {
    let make = |id: &str, priority: i32, text: &str| json!({"id": id, "when": {"event": "PreToolUse"}, "inject": text, "priority": priority});
    let rules =
        [make("low", -1, "low"), make("high", 9, "high"), make("long", 5, &"x".repeat(30)), make("mid", 1, "mid")];
    let action =
        with_rules(TestInvocation::command("ls").config(json!({"maxChars": 12})), &rules).handle(&MemoryActivation);
    assert_eq!(action.additional_context[0].value, "high\nmid\nlow");
    let kept: Vec<&Value> = action.emit_events.iter().map(|record| &record.data["rule"]).collect();
    assert_eq!(kept, ["high", "mid", "low"]);
    assert!(action.emit_events.iter().all(|record| record.kind == RecordType::MemoryActivated));
    assert!(told(TestInvocation::command("ls"), &[make("a", 0, &"x".repeat(9_000))])[0].chars().count() == 2_000);
}

#[test]
fn a_reminder_is_not_repeated_within_its_once() {
    let rules = ["session", "turn", "always"]
        .map(|once| json!({"id": once, "when": {"event": "PreToolUse"}, "inject": once, "once": once}));
    let mut session = TestSession::default();
    let call = |session: &mut TestSession, agent: &str| {
        let scene = TestInvocation::command("ls").with(|scene| scene.ids.agent_id = agent.to_owned());
        session
            .view
            .files
            .insert(dispatch_hook_module::testing::in_repo(RULES), json!({"rules": rules}).to_string().into_bytes());
        let action = session.step(scene, &[&MemoryActivation]).remove(0);
        action.additional_context.first().map(|note| note.value.clone()).unwrap_or_default()
    };
    assert_eq!(call(&mut session, "u00"), "session\nturn\nalways");
    assert_eq!(session.state.get("memory", "activated"), Some(&json!({"session": "session", "turn": "turn:0"})));
    assert_eq!(call(&mut session, "u00"), "always");
    session.turn_id += 1;
    assert_eq!(call(&mut session, "u00"), "turn\nalways");
    assert_eq!(call(&mut session, "a01"), "session\nturn\nalways", "a subagent was not told yet");
    assert_eq!(call(&mut session, "a01"), "always");
}

#[test]
fn a_broken_rule_is_told_once_and_skipped() {
    let rules = [
        json!({"id": "bad", "inject": "x"}),
        rule("regex", json!({"event": "PreToolUse", "command": "("}), "x"),
        rule("elsewhere", json!({"event": "PostToolUse", "command": "["}), "x"),
        rule("good", json!({"event": "PreToolUse"}), "hint"),
    ];
    let scene = with_rules(TestInvocation::command("ls"), &rules);
    let action = scene.handle(&MemoryActivation);
    assert_eq!(action.additional_context[0].value, "hint");
    assert_eq!(
        action.warnings.len(),
        2,
        "the pattern of a rule that is not reached is not compiled: {:?}",
        action.warnings
    );
    let state = action.state_patch.expect("pointers");
    let again = scene.state(state.clone()).handle(&MemoryActivation);
    assert_eq!(again, HookAction::none());

    let changed = with_rules(
        TestInvocation::command("ls"),
        &[rule("regex", json!({"event": "PreToolUse", "command": "[a"}), "x")],
    );
    assert_eq!(changed.state(state).handle(&MemoryActivation).warnings.len(), 1, "another mistake is told again");
}

#[test]
fn no_file_no_opinion_and_a_broken_one_one_warning() {
    assert_eq!(TestInvocation::command("ls").handle(&MemoryActivation), HookAction::none());
    for content in ["", "[]", "{\"rules\": 1}"] {
        assert_eq!(
            TestInvocation::command("ls").file(RULES, content).handle(&MemoryActivation).warnings.len(),
            1,
            "{content}"
        );
    }
    let huge = " ".repeat(usize::try_from(RULES_LIMIT_BYTES).expect("small") + 1);
    assert_eq!(TestInvocation::command("ls").file(RULES, huge).handle(&MemoryActivation).warnings.len(), 1);
}

#[test]
fn records_and_state_hold_no_text_of_the_call() {
    let rules = [rule("r", json!({"event": "PreToolUse"}), "{command}")];
    let action = with_rules(TestInvocation::command("zanzibar"), &rules).handle(&MemoryActivation);
    assert_eq!(action.additional_context[0].value, "zanzibar");
    assert!(!format!("{:?}{:?}", action.emit_events, action.state_patch).contains("zanzibar"));
}

#[test]
fn a_long_result_is_looked_at_from_both_ends() {
    let text = format!("first {} last", "x".repeat(1_000_000));
    for (pattern, expected) in [("^first", true), ("last$", true), ("x first", false)] {
        let scene = after(TestInvocation::command("x"), json!({"stdout": text}));
        assert_eq!(
            !told(scene, &[rule("r", json!({"event": "PostToolUse", "result": pattern}), "hint")]).is_empty(),
            expected,
            "{pattern}"
        );
    }
}

#[test]
fn it_runs_around_tool_calls_only() {
    assert!(MemoryActivation.spec().hot_path_safe && !MemoryActivation.spec().critical);
    let seen: Vec<EventName> =
        EventName::KNOWN.into_iter().filter(|event| MemoryActivation.spec().handles(event)).collect();
    assert_eq!(seen, [EventName::PreToolUse, EventName::PostToolUse]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_rules_and_any_call_stay_within_the_bound(
        texts in proptest::collection::vec(("[a-z]{1,4}", "(\\{command\\}|\\{path\\}|[a-zé]){1,30}", -3i32..3, "[(\\[a-c.*]{0,6}"), 0..12),
        command in "[ -~é]{0,60}",
        max_chars in 0usize..80,
    ) {
        let rules: Vec<Value> = texts.iter().map(|(id, inject, priority, pattern)| {
            json!({"id": id, "inject": inject, "priority": priority, "when": {"event": "PreToolUse", "command": pattern}})
        }).collect();
        let scene = with_rules(TestInvocation::command(&command).config(json!({"maxChars": max_chars})), &rules);
        let action = scene.handle(&MemoryActivation);
        let chars: usize = action.additional_context.iter().map(|note| note.value.chars().count()).sum();
        prop_assert!(chars <= max_chars);
    }
}
