//! State, phase, plan and exceptions: what the user moves by hand is on record and survives the loss of the cache.

use crate::agent::{ABC, Agent};
use dispatch_support::TestContext;
use serde_json::{Value, json};

fn state(context: &TestContext) -> Value {
    context.dispatch(&["state", "show", ABC]).json()
}

#[test]
fn the_state_is_made_again_from_the_log() {
    let context = TestContext::new();
    let agent = Agent::new(&context, "abc");
    agent.prompt("one");
    agent.prompt("two");
    assert_eq!(context.dispatch(&["phase", "set", "EXECUTING", "--reason", "ready"]).status, 0);
    let before = state(&context);
    assert_eq!((&before["core"]["phase"], &before["core"]["lastTurnId"]), (&json!("EXECUTING"), &json!(2)));

    let file = format!(".ai/tmp/{ABC}/state.json");
    let rebuild = || context.dispatch(&["state", "rebuild"]);
    assert!(rebuild().stdout.contains("the state matches the log"));
    std::fs::remove_file(context.project().join(&file)).unwrap();
    assert_eq!(context.dispatch(&["state", "show"]).status, 3);
    assert_eq!(rebuild().status, 0);
    assert_eq!(state(&context), before);
    context.write(&file, "{\"core\": {\"phase\": \"PLANNING\"}, \"odd\": 1}");
    let told = rebuild().stdout;
    assert!(told.contains("  core.phase: \"PLANNING\" -> \"EXECUTING\"\n"), "{told}");
    assert!(told.contains("  odd: 1 -> nothing\n"), "{told}");
    assert_eq!(state(&context), before);
}

#[test]
fn a_phase_is_set_with_a_reason_and_never_back() {
    let context = TestContext::new();
    let agent = Agent::new(&context, "abc");
    agent.prompt("go");
    assert_eq!(context.dispatch(&["phase", "show", "--json"]).json()["phase"], "PLANNING");
    assert_eq!(context.dispatch(&["phase", "set", "EXECUTING"]).status, 2, "a reason is needed");
    assert_eq!(context.dispatch(&["phase", "set", "EXECUTING", "--reason", " "]).status, 2);
    assert_eq!(context.dispatch(&["phase", "set", "DONE", "--reason", "x"]).status, 2);
    let set = context.dispatch(&["phase", "set", "EXECUTING", "--reason", "the plan is fine"]);
    assert_eq!(set.stdout, format!("session {ABC}: PLANNING -> EXECUTING\n"));
    let back = context.dispatch(&["phase", "set", "PLANNING", "--reason", "x"]);
    assert!(back.status == 2 && back.stderr.contains("cannot go back from EXECUTING to PLANNING"), "{back:?}");
    let events = context.dispatch(&["events"]).stdout;
    assert!(events.contains("PHASE_CHANGED: PLANNING -> EXECUTING, the plan is fine"), "{events}");
}

#[test]
fn blocked_work_is_taken_up_again_by_a_person() {
    let context = TestContext::new();
    let agent = Agent::new(&context, "abc");
    context.write(
        ".ai/hooks/dispatch.manifest.json",
        json!({"version": 1, "modules": ["session", "self-guard", "graph-pretooluse"], "enforcePhases": true,
            "budgets": {"PreToolUse": 60000}, "blockOn": {"codes": ["UB01"]},
            "phasePolicy": {"PLANNING": {"allowTools": "*", "mode": "allow"}}})
        .to_string(),
    );
    agent.prompt("go");
    let payload = json!({"session_id": "abc", "cwd": context.project(), "hook_event_name": "PreToolUse",
        "tool_name": "Bash", "tool_input": {"command": "rm -rf /"}, "tool_use_id": "b1"});
    let hook = |payload: &Value| {
        context
            .run("dispatch-hook", &["PreToolUse", "--host", "claude-code"], payload.to_string().as_bytes(), &[])
            .stdout
    };
    let refused = hook(&payload);
    assert!(refused.contains("UB01") && refused.contains("dispatch phase set PLANNING --reason TEXT"), "{refused}");
    let shown = context.dispatch(&["phase", "show"]);
    assert!(shown.stdout.contains("BLOCKED\nblocked by a policy violation: a call was refused by UB01"), "{shown:?}");
    let next = json!({"session_id": "abc", "cwd": context.project(), "hook_event_name": "PreToolUse",
        "tool_name": "Bash", "tool_input": {"command": "npm test"}, "tool_use_id": "b2"});
    assert!(hook(&next).contains("The work is blocked: a call was refused by UB01"), "{}", hook(&next));
    context.write("plan.json", PLAN);
    let submitted = context.dispatch(&["plan", "submit", "plan.json"]);
    assert!(submitted.status == 1 && submitted.stderr.contains("the work is blocked"), "{submitted:?}");
    let before = state(&context);
    assert_eq!(context.dispatch(&["state", "rebuild"]).status, 0);
    assert_eq!(state(&context), before, "the log alone tells all of it");
    assert_eq!(context.dispatch(&["phase", "set", "PLANNING", "--reason", "it was a mistake"]).status, 0);
    let after = json!({"session_id": "abc", "cwd": context.project(), "hook_event_name": "PreToolUse",
        "tool_name": "Bash", "tool_input": {"command": "npm test"}, "tool_use_id": "b3"});
    assert!(!hook(&after).contains("deny"), "{}", hook(&after));
    assert!(context.dispatch(&["plan", "submit", "plan.json"]).status == 0);
    let events = context.dispatch(&["events"]).stdout;
    assert!(events.contains("PHASE_CHANGED: PLANNING -> BLOCKED, a call was refused by UB01"), "{events}");
}

#[test]
fn an_exception_lets_its_rule_pass_until_it_ends_and_is_on_record() {
    let context = TestContext::new();
    let agent = Agent::new(&context, "abc");
    assert!(agent.edit_rules("1").to_string().contains("ask"));
    let added = context.dispatch(&["allow-once", "sg01", "--for", "5m", "--reason", "moving rules"]);
    assert!(added.stdout.starts_with("suspended SG01 for 5m, until "), "{added:?}");
    assert!(!agent.edit_rules("2").to_string().contains("ask"));
    let listed = context.dispatch(&["allow-once", "--list", "--json"]).json();
    assert_eq!(
        (&listed["exceptions"][0]["code"], &listed["exceptions"][0]["reason"]),
        (&json!("SG01"), &json!("moving rules"))
    );
    let events = context.dispatch(&["events"]).stdout;
    assert!(events.contains("EXCEPTION_USED: SG01 until "), "{events}");
    assert_eq!(context.dispatch(&["allow-once", "no such code"]).status, 2);
    assert_eq!(context.dispatch(&["allow-once", "SG01", "--for", "2d"]).status, 2);
    assert_eq!(TestContext::new().dispatch(&["allow-once", "SG01"]).status, 2, "no rules, no exceptions");

    let over = r#"{"exceptions": [{"code": "SG01", "until": "2020-01-01T00:00:00.000Z", "reason": ""}]}"#;
    context.write(".ai/tmp/exceptions.json", over);
    assert!(agent.edit_rules("3").to_string().contains("ask"));
    assert_eq!(context.dispatch(&["allow-once", "--list"]).stdout, "no exceptions in force\n");
}

const PLAN: &str = r#"{"version": 1, "nodes": [
    {"id": "a", "title": "First", "scope": ["src/**"], "dependsOn": [], "validations": ["test -f src/a.txt"]},
    {"id": "b", "title": "Second", "scope": ["docs/**"], "dependsOn": ["a"]}
]}"#;

#[test]
fn a_plan_goes_from_submitted_to_complete() {
    let context = TestContext::new();
    Agent::new(&context, "abc").prompt("go");
    assert_eq!(context.dispatch(&["plan", "show"]).status, 2, "there is none yet");
    context.write("plan.json", PLAN);
    let submitted = context.dispatch(&["plan", "submit", "plan.json"]);
    assert_eq!(submitted.stdout, format!("accepted plan.json with 2 nodes; session {ABC} is EXECUTING\n"));
    let waits = context.dispatch(&["plan", "start", "b"]);
    assert!(waits.status == 1 && waits.stderr.contains("hint: "), "{waits:?}");
    assert_eq!(context.dispatch(&["plan", "start", "a"]).stdout, "a started\n");
    assert_eq!(context.dispatch(&["plan", "start", "a"]).stdout, "a was already started\n");

    let failed = context.dispatch(&["plan", "complete", "a"]);
    assert_eq!(failed.status, 1, "{failed:?}");
    assert!(failed.stdout.contains("FAILED  test -f src/a.txt  (exit code 1"), "{failed:?}");
    assert_eq!(context.dispatch(&["phase", "show", "--json"]).json()["phase"], "BLOCKED");
    context.write("src/a.txt", "");
    assert_eq!(context.dispatch(&["plan", "complete", "a"]).status, 1, "blocked until the user says so");
    assert_eq!(context.dispatch(&["phase", "set", "EXECUTING", "--reason", "the file is there"]).status, 0);
    assert_eq!(context.dispatch(&["plan", "complete", "a"]).status, 0);
    assert_eq!(context.dispatch(&["plan", "complete", "b"]).status, 0);
    let shown = context.dispatch(&["plan", "show", "--json"]).json();
    assert_eq!(shown["phase"], "COMPLETE");
    assert!(shown["nodes"].as_array().unwrap().iter().all(|node| node["status"] == "completed"), "{shown}");
    let before = state(&context);
    assert_eq!(context.dispatch(&["state", "rebuild"]).status, 0);
    assert_eq!(state(&context), before, "the log alone tells all of it");
}

#[test]
fn a_plan_that_is_wrong_is_refused_with_every_problem() {
    let context = TestContext::new();
    Agent::new(&context, "abc").prompt("go");
    context.write(
        "plan.json",
        r#"{"version": 1, "nodes": [{"id": "a", "title": "x", "scope": ["../**"], "dependsOn": ["z"]}]}"#,
    );
    let output = context.dispatch(&["plan", "submit", "plan.json"]);
    assert_eq!(output.status, 1, "{output:?}");
    assert!(output.stderr.matches("error: ").count() >= 3, "{output:?}");
    assert_eq!(context.dispatch(&["phase", "show", "--json"]).json()["phase"], "PLANNING");
}

#[test]
fn the_checks_of_a_plan_obey_the_rules_that_its_agent_is_under() {
    let context = TestContext::new();
    Agent::new(&context, "abc").prompt("go");
    let plan = json!({"version": 1, "nodes": [{"id": "a", "title": "x", "scope": ["**"], "dependsOn": [],
        "validations": ["rm -r .ai/hooks"]}]});
    context.write("plan.json", plan.to_string());
    assert_eq!(context.dispatch(&["plan", "submit", "plan.json"]).status, 0);
    let output = context.dispatch(&["plan", "complete", "a"]);
    assert!(output.status == 1 && output.stdout.contains("not run: SG01"), "{output:?}");
    assert!(context.project().join(".ai/hooks").is_dir());
}
