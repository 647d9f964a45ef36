//! What the session module records and says at each event.

use dispatch_hook_module::testing::TestInvocation;
use serde_json::{Value, json};

use super::*;

fn only_record(action: &HookAction, kind: RecordType) -> Value {
    let found: Vec<_> = action.emit_events.iter().filter(|record| record.kind == kind).collect();
    assert_eq!(found.len(), 1, "{kind}");
    found[0].data.clone()
}

#[test]
fn session_start_sets_the_ids_and_tells_the_model_where_it_stands() {
    let head = "0123456789abcdef0123456789abcdef01234567";
    let scene = TestInvocation::new(EventName::SessionStart)
        .with(|scene| scene.event.source = Some("startup".to_owned()))
        .file(".git/HEAD", "ref: refs/heads/main\n")
        .file(".git/refs/heads/main", format!("{head}\n"));
    let action = scene.handle(&Session);
    let data = only_record(&action, RecordType::SessionStarted);
    assert_eq!(data["gitHead"], head);
    assert_eq!(data["source"], "startup");
    assert_eq!(data["host"], "claude-code");
    let core = &action.state_patch.expect("a patch")["core"];
    assert_eq!(core["sessionId"], "a3f0c812");
    assert_eq!(core["phase"], "UNINITIALIZED");
    assert_eq!(core["workId"], "w001");
    assert!(action.additional_context[0].value.lines().count() <= 5);
}

#[test]
fn a_packed_head_is_found_and_a_climbing_one_is_not() {
    let head = "0123456789abcdef0123456789abcdef01234567";
    let packed = TestInvocation::new(EventName::SessionStart)
        .file(".git/HEAD", "ref: refs/heads/main\n")
        .file(".git/packed-refs", format!("# pack-refs\n{head} refs/heads/main\n"));
    assert_eq!(only_record(&packed.handle(&Session), RecordType::SessionStarted)["gitHead"], head);
    let climbing = TestInvocation::new(EventName::SessionStart)
        .file(".git/HEAD", "ref: ../../secret\n")
        .file(".git/../../secret", head);
    assert_eq!(only_record(&climbing.handle(&Session), RecordType::SessionStarted)["gitHead"], Value::Null);
}

#[test]
fn a_resumed_session_keeps_its_ids() {
    let scene = TestInvocation::new(EventName::SessionStart)
        .with(|scene| scene.event.source = Some("resume".to_owned()))
        .state(json!({"core": {"sessionId": "a3f0c812", "workId": "w001", "lastTurnId": 1, "phase": "EXECUTING"},
                      "intents": {"active": "INT-1"}, "plan": {"currentPath": ".ai/plan/planGraph.json"}}));
    let action = scene.handle(&Session);
    assert_eq!(action.state_patch, None);
    let text = &action.additional_context[0].value;
    assert!(text.contains("EXECUTING") && text.contains("INT-1") && text.contains("planGraph.json"), "{text}");
}

#[test]
fn the_first_prompt_begins_planning() {
    let action = TestInvocation::prompt("fix the bug").handle(&Session);
    let data = only_record(&action, RecordType::Prompt);
    assert_eq!(data["chars"], 11);
    assert_eq!(only_record(&action, RecordType::PhaseChanged)["to"], "PLANNING");
    assert_eq!(action.state_patch.expect("a patch")["core"]["phase"], "PLANNING");

    let later = TestInvocation::prompt("more")
        .state(json!({"core": {"sessionId": "a3f0c812", "workId": "w001", "phase": "EXECUTING", "lastTurnId": 1}}));
    let later = later.handle(&Session);
    assert_eq!(later.emit_events.len(), 1);
    assert_eq!(later.state_patch, None);
}

#[test]
fn new_work_starts_after_completion_or_when_the_prompt_says_so() {
    let settings = |section: &Value| {
        let file = json!({"session": section}).to_string();
        crate::config::Config::parse(file.as_bytes()).0.session()
    };
    let state = |phase: &str| {
        dispatch_hook_module::SessionState::from_value(json!({"core": {"workId": "w001", "phase": phase}}))
    };
    let table = [
        ("EXECUTING", "go on", Value::Null, false),
        ("EXECUTING", "/new thing", Value::Null, true),
        ("EXECUTING", "/newer", Value::Null, false),
        ("COMPLETE", "go on", Value::Null, true),
        ("EXECUTING", "next ticket", json!({"newWorkOn": ["^next ticket"]}), true),
        ("EXECUTING", "/new", json!({"newWorkOn": []}), false),
        ("EXECUTING", "x", json!({"newWorkOn": ["("]}), false),
        ("EXECUTING", "x", json!({"newWorkOn": ["x{1000000}"]}), false),
    ];
    for (phase, prompt, config, expected) in table {
        assert_eq!(settings(&config).starts_new_work(&state(phase), prompt), expected, "{phase} {prompt} {config}");
    }
    let config = json!({"newWorkOn": ["next.*ticket", "[^a-z]{3}!"]});
    assert!(
        settings(&config).starts_new_work(&state("EXECUTING"), "take the next open ticket"),
        "patterns with a dot match"
    );
    assert!(settings(&config).starts_new_work(&state("EXECUTING"), "123!"), "patterns with a negated class match");
    assert!(
        !settings(&Value::Null).starts_new_work(&dispatch_hook_module::SessionState::default(), "/new"),
        "the first work is no new one"
    );
}

#[test]
fn new_work_starts_again_at_planning() {
    let scene = TestInvocation::prompt("/new")
        .with(|scene| scene.ids.work_id = "w002".to_owned())
        .state(json!({"core": {"sessionId": "a3f0c812", "workId": "w001", "phase": "COMPLETE", "lastTurnId": 0}}));
    let action = scene.handle(&Session);
    let core = &action.state_patch.expect("a patch")["core"];
    assert_eq!((core["workId"].as_str(), core["phase"].as_str()), (Some("w002"), Some("PLANNING")));
}

#[test]
fn a_tool_call_goes_on_record_with_stamps_and_without_its_text() {
    let action = TestInvocation::command("cat secret.txt").handle(&Session);
    let data = only_record(&action, RecordType::ToolCall);
    assert_eq!(data["kind"], "execute");
    assert_eq!(data["paths"], json!([{"path": "/repo/secret.txt", "access": "read"}]));
    assert_eq!(data["commandHash"], sha256_hex(b"cat secret.txt"));
    let stamps = action.input_metadata.expect("stamps");
    assert!(stamps.keys().all(|key| key.starts_with("_hook")));
    assert_eq!(stamps["_hookArtifactRoot"], "a/w001");
}

#[test]
fn a_known_session_changes_no_state_on_a_tool_call() {
    let scene = TestInvocation::command("ls")
        .state(json!({"core": {"sessionId": "a3f0c812", "workId": "w001", "lastTurnId": 1, "phase": "PLANNING"}}));
    assert_eq!(scene.handle(&Session).state_patch, None);
}

#[test]
fn a_result_tells_success_time_and_size() {
    let scene =
        TestInvocation::command("ls").record(RecordType::ToolCall, json!({"toolUseId": "call-1"})).with(|scene| {
            scene.event.name = EventName::PostToolUse;
            scene.event.tool_response = json!({"stdout": "a\n", "exit_code": 1, "stderr": "bad"});
        });
    let data = only_record(&scene.handle(&Session), RecordType::ToolResult);
    assert_eq!(
        (data["ok"].as_bool(), data["ms"].as_i64(), data["error"].as_str()),
        (Some(false), Some(1_000), Some("bad"))
    );
    assert!(data["outputBytes"].as_u64() > Some(10));
}

#[test]
fn a_subagent_is_bound_to_its_id() {
    let scene = TestInvocation::new(EventName::SubagentStart).with(|scene| {
        scene.event.agent_id = Some("host-7".to_owned());
        scene.event.agent_type = Some("Plan".to_owned());
        scene.ids.agent_id = "a01".to_owned();
    });
    let action = scene.handle(&Session);
    assert_eq!(only_record(&action, RecordType::SubagentStarted)["agentType"], "Plan");
    assert_eq!(action.state_patch.expect("a patch")["core"]["agents"], json!({"host-7": "a01"}));
}

#[test]
fn compaction_keeps_the_intent_the_open_nodes_and_what_is_owed() {
    let plan = json!({"version": 1, "nodes": [{"id": "n1", "title": "one"}, {"id": "n2", "title": "two"}]});
    let scene = TestInvocation::new(EventName::PreCompact)
        .state(
            json!({"intents": {"active": "INT-9"}, "plan": {"currentPath": "plan.json", "nodes": {"n1": "completed"}}}),
        )
        .file("plan.json", plan.to_string())
        .record(RecordType::RlmRequired, json!({"rule": "big-search"}))
        .record(RecordType::RlmRequired, json!({"rule": "done-one"}))
        .record(RecordType::RlmSatisfied, json!({"rule": "done-one"}));
    let text = scene.handle(&Session).additional_context[0].value.clone();
    for part in ["INT-9", "n2: two", "big-search"] {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert!(!text.contains("n1") && !text.contains("done-one"), "{text}");
}

#[test]
fn stop_counts_from_the_log() {
    let scene = TestInvocation::new(EventName::Stop)
        .record(RecordType::Prompt, json!({}))
        .record(RecordType::ToolCall, json!({}))
        .record(RecordType::ToolCall, json!({}))
        .record(RecordType::ToolResult, json!({"ok": false}))
        .with(|scene| scene.view.records[0].turn_id = 0);
    let data = only_record(&scene.handle(&Session), RecordType::Stop);
    assert_eq!((data["session"]["prompts"].as_u64(), data["turn"]["prompts"].as_u64()), (Some(1), Some(0)));
    assert_eq!((data["turn"]["toolCalls"].as_u64(), data["turn"]["failed"].as_u64()), (Some(2), Some(1)));
}

#[test]
fn events_outside_the_eight_are_not_its_business() {
    assert!(!Session.spec().handles(&EventName::Other("Notification".to_owned())));
    assert!(EventName::KNOWN.iter().all(|event| Session.spec().handles(event)));
}
