//! A dry run says the same as the hook would, in the shape that scripts rely on, and leaves nothing behind.

use crate::agent::{ABC, Agent};
use dispatch_support::TestContext;
use serde_json::{Value, json};

fn explain(context: &TestContext, payload: &[u8], more: &[&str]) -> Value {
    let arguments = [&["explain", "--host", "claude-code", "--json"], more].concat();
    context.run("dispatch", &arguments, payload, &[]).json()
}

#[test]
fn a_dry_run_has_the_shape_that_scripts_rely_on_and_writes_nothing() {
    let context = TestContext::new();
    let agent = Agent::new(&context, "abc");
    let file = context.project().join(".ai/hooks/x.json");
    let call = json!({"tool_name": "Write", "tool_input": {"file_path": file, "content": ""}, "tool_use_id": "1"});
    let report = explain(&context, &agent.payload("PreToolUse", &call), &["--event", "PreToolUse"]);
    let keys: Vec<&String> = report.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["host", "event", "session", "tool", "decision", "reason", "code", "modules", "findings"]);
    assert_eq!(report["host"], "claude-code");
    assert_eq!(report["session"], ABC);
    let path = "[TEST]/project/.ai/hooks/x.json";
    let tool = &report["tool"];
    assert_eq!(tool["name"], "Write");
    assert_eq!(tool["kind"], "write");
    assert_eq!(tool["command"], Value::Null);
    assert_eq!(tool["paths"][0]["path"], path);
    assert_eq!((&report["decision"], &report["code"]), (&json!("ask"), &json!("SG01")));
    assert!(report["modules"].as_array().unwrap().iter().any(|module| module["name"] == "self-guard"));
    assert!(!context.project().join(".ai/tmp").exists(), "nothing is written");
}

#[test]
fn an_event_without_a_tool_has_none() {
    let context = TestContext::new();
    let agent = Agent::new(&context, "abc");
    let report = explain(&context, &agent.payload("Stop", &json!({})), &[]);
    assert_eq!((&report["event"], &report["tool"]), (&json!("Stop"), &Value::Null));
}

#[test]
fn a_workspace_without_rules_and_an_unknown_host_are_said() {
    let context = TestContext::new();
    let payload = json!({"session_id": "abc", "hook_event_name": "PreToolUse", "tool_name": "Bash",
        "tool_input": {"command": "ls"}, "cwd": context.project()});
    let output = context.run("dispatch", &["explain", "--host", "claude-code"], payload.to_string().as_bytes(), &[]);
    assert!(output.stdout.contains("no .ai/hooks found"), "{output:?}");
    let output = context.run("dispatch", &["explain", "--host", "nobody"], b"{}", &[]);
    assert!(output.status == 2 && output.stderr.contains("hint: expected one of "), "{output:?}");
}

#[test]
fn the_text_shows_what_the_host_would_get() {
    let context = TestContext::new();
    let agent = Agent::new(&context, "abc");
    let call = json!({"tool_name": "Bash", "tool_input": {"command": "dispatch trust --all"}, "tool_use_id": "1"});
    let output = context.run("dispatch", &["explain"], &agent.payload("PreToolUse", &call), &[]);
    assert!(output.stdout.contains("decision  ask: the user is asked by self-guard (SG02)"), "{output:?}");
    assert!(output.stdout.contains("\"permissionDecision\":\"ask\""), "{output:?}");
}
