//! What a host gets, and what an invocation leaves behind.

use dispatch_hook_module::{Decision, Effects, RecordType};
use serde_json::{Value, json};

use super::workspace::Workspace;
use crate::run::event_of;

fn stdout(outcome: &crate::run::Outcome) -> Value {
    serde_json::from_slice(&outcome.reply.stdout).expect("exactly one JSON value")
}

#[test]
fn exactly_one_json_object_on_stdout_and_nothing_on_stderr() {
    let workspace = Workspace::new();
    let fired = [
        ("SessionStart", json!({"source": "startup"})),
        ("UserPromptSubmit", json!({"prompt": "hi"})),
        ("PreToolUse", json!({"tool_name": "Bash", "tool_input": {"command": "deny me"}, "tool_use_id": "1"})),
        (
            "PostToolUse",
            json!({"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_response": {}, "tool_use_id": "2"}),
        ),
        ("PreCompact", json!({"trigger": "auto"})),
        ("Stop", json!({})),
        ("SubagentStart", json!({"agent_id": "x", "agent_type": "Plan"})),
        ("SubagentStop", json!({"agent_id": "x", "agent_type": "Plan"})),
        ("Notification", json!({"message": "waiting"})),
    ];
    for (event, more) in fired {
        let outcome = workspace.fire(event, more);
        assert!(stdout(&outcome).is_object(), "{event}");
        assert_eq!((outcome.reply.stderr.len(), outcome.reply.exit_code), (0, 0), "{event}");
    }
    assert_eq!(workspace.of_type(RecordType::HookRun).len(), 9);
}

#[test]
fn every_invocation_leaves_one_run_record_with_event_id_decision_and_time() {
    let workspace = Workspace::new();
    workspace.command("deny me", "1");
    let runs = workspace.of_type(RecordType::HookRun);
    let line: Value = serde_json::from_str(workspace.log().lines().last().expect("a line")).expect("JSON");
    assert_eq!(runs.len(), 1);
    assert_eq!((&line["event"], &line["decision"]), (&json!("PreToolUse"), &json!("deny")));
    assert!(line["ms"].is_number() && line["hookRunId"].is_string());
    let data = &runs[0].data;
    assert_eq!((&data["code"], &data["decidedBy"]), (&json!("G01"), &json!("guard")));
    assert_eq!(data["modules"].as_array().map(Vec::len), Some(3));
    assert_eq!(data["inputHash"], data["finalInputHash"]);
    assert_eq!(data["toolKind"], "execute");
}

#[test]
fn ids_have_their_short_forms_and_the_turn_counts_prompts() {
    let workspace = Workspace::new();
    for prompt in ["one", "two"] {
        workspace.fire("UserPromptSubmit", json!({"prompt": prompt}));
    }
    workspace.command("ls", "1");
    let last = workspace.records().pop().expect("a record");
    assert_eq!((last.session_id.as_str(), last.work_id.as_str(), last.agent_id.as_str()), ("ba7816bf", "w001", "u00"));
    assert_eq!(last.turn_id, 2);
    let parts: Vec<&str> = last.hook_run_id.split('-').collect();
    assert_eq!((parts[0], parts[1], parts[2].len(), parts.len()), ("PreToolUse", "2", 13, 3));
    assert_eq!(workspace.state()["core"]["lastTurnId"], 2);
}

#[test]
fn run_ids_are_unique_even_within_one_millisecond() {
    let workspace = Workspace::new();
    for number in 0..40 {
        workspace.command("ls", &number.to_string());
    }
    let ids: std::collections::BTreeSet<String> =
        workspace.of_type(RecordType::HookRun).into_iter().map(|record| record.hook_run_id).collect();
    assert_eq!(ids.len(), 40);
}

#[test]
fn subagents_get_short_ids_bound_to_the_hosts() {
    let workspace = Workspace::new();
    for agent in ["x", "y", "x"] {
        workspace.fire("SubagentStart", json!({"agent_id": agent, "agent_type": "Plan"}));
    }
    let ids: Vec<String> =
        workspace.of_type(RecordType::SubagentStarted).into_iter().map(|record| record.agent_id).collect();
    assert_eq!(ids, ["a01", "a02", "a01"]);
    assert_eq!(workspace.state()["core"]["agents"], json!({"x": "a01", "y": "a02"}));
}

#[test]
fn state_is_written_only_when_it_changes() {
    let workspace = Workspace::new();
    workspace.fire("UserPromptSubmit", json!({"prompt": "hi"}));
    let before =
        std::fs::metadata(workspace.session().join("state.json")).expect("a state").modified().expect("a time");
    workspace.command("ls", "1");
    let after = std::fs::metadata(workspace.session().join("state.json")).expect("a state").modified().expect("a time");
    assert_eq!(before, after);
}

#[test]
fn prompts_are_audited_as_text_or_as_a_hash() {
    let workspace = Workspace::new();
    let secret = "use ghp_0123456789abcdefghijABCDEFGHIJ456789 please";
    workspace.fire("UserPromptSubmit", json!({"prompt": secret}));
    workspace.write(".ai/hooks/config.json", r#"{"prompts": "hash"}"#);
    workspace.fire("UserPromptSubmit", json!({"prompt": "second"}));
    let text = std::fs::read_to_string(workspace.session().join("p.jsonl")).expect("prompts");
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[0]["text"], "use [REDACTED] please");
    assert_eq!((lines[1].get("text"), lines[1]["turnId"].as_u64()), (None, Some(2)));
    assert!(!workspace.log().contains("second") && !workspace.log().contains("ghp_"));
}

#[test]
fn a_secret_reaches_no_file() {
    let workspace = Workspace::new();
    let token = "ghp_0123456789abcdefghijABCDEFGHIJ456789";
    workspace.command(&format!("curl -H 'Authorization: Bearer {token}' https://example.com"), "1");
    workspace.command("fail", "2");
    workspace.fire("PostToolUse", json!({"tool_name": "Bash", "tool_input": {"command": token}, "tool_response": {"stderr": token, "exit_code": 1}, "tool_use_id": "3"}));
    for file in workspace.files() {
        let content = std::fs::read(workspace.root().join(".ai/tmp").join(&file)).expect("readable");
        assert!(!String::from_utf8_lossy(&content).contains("ghp_0123"), "{file}");
    }
    assert_eq!(workspace.of_type(RecordType::ErrorModule).len(), 1);
}

#[test]
fn without_rules_nothing_is_decided_and_nothing_is_written() {
    let workspace = Workspace::new();
    std::fs::remove_dir_all(workspace.root().join(".ai")).expect("removable");
    let outcome = workspace.command("deny me", "1");
    assert_eq!(stdout(&outcome), json!({}));
    assert!(!workspace.root().join(".ai").exists());
    let report = outcome.report.expect("a report");
    assert_eq!(report.tool.map(|tool| tool.command), Some(Some("deny me".to_owned())));
}

#[test]
fn an_agent_that_changes_its_folder_takes_its_rules_along() {
    let workspace = Workspace::new();
    let elsewhere = tempfile::tempdir().expect("a folder");
    let mut payload =
        workspace.payload("PreToolUse", json!({"tool_name": "Bash", "tool_input": {"command": "deny me"}}));
    payload["cwd"] = json!(elsewhere.path());
    let outcome = workspace.send(payload.to_string().as_bytes());
    assert_eq!(outcome.report.map(|report| report.decision), Some(Decision::Deny));
    assert!(!elsewhere.path().join(".ai").exists());
}

#[test]
fn a_folder_below_the_workspace_belongs_to_it() {
    let workspace = Workspace::new();
    workspace.write("deep/down/file", "");
    let mut payload =
        workspace.payload("PreToolUse", json!({"tool_name": "Bash", "tool_input": {"command": "deny me"}}));
    payload["cwd"] = json!(workspace.root().join("deep/down"));
    assert_eq!(
        workspace.send(payload.to_string().as_bytes()).report.map(|report| report.decision),
        Some(Decision::Deny)
    );
    assert!(!workspace.root().join("deep/down/.ai").exists());
}

#[test]
fn a_dry_run_decides_and_writes_nothing() {
    let workspace = Workspace::new();
    let payload = workspace
        .payload("PreToolUse", json!({"tool_name": "Bash", "tool_input": {"command": "deny me"}, "tool_use_id": "1"}));
    let outcome = workspace.invoke(payload.to_string().as_bytes(), Effects::DryRun);
    let report = serde_json::to_value(outcome.report).expect("serialisable");
    assert_eq!(workspace.files(), Vec::<String>::new());
    assert_eq!(
        (&report["host"], &report["event"], &report["session"]),
        (&json!("claude-code"), &json!("PreToolUse"), &json!("ba7816bf"))
    );
    assert_eq!(report["tool"], json!({"name": "Bash", "kind": "execute", "paths": [], "command": "deny me"}));
    assert_eq!(
        (&report["decision"], &report["reason"], &report["code"]),
        (&json!("deny"), &json!("the test says no"), &json!("G01"))
    );
    let names: Vec<&str> =
        report["modules"].as_array().expect("a list").iter().filter_map(|module| module["name"].as_str()).collect();
    assert_eq!(names, ["session", "self-guard", "guard"]);
}

#[test]
fn phases_are_tracked_and_enforced_only_on_request() {
    let workspace = Workspace::new();
    assert_eq!(workspace.command("ls", "1").report.map(|report| report.decision), Some(Decision::Allow));
    workspace.manifest(&json!({"modules": ["session"], "enforcePhases": true}));
    let outcome = workspace.command("ls", "2");
    let report = outcome.report.expect("a report");
    assert_eq!((report.decision, report.code.as_deref()), (Decision::Deny, Some("PHASE_POLICY")));
    assert_eq!(report.modules.last().map(|module| module.name.as_str()), Some("phase-policy"));
    let read = workspace.fire("PreToolUse", json!({"tool_name": "Read", "tool_input": {"file_path": "x"}}));
    assert_eq!(read.report.map(|report| report.decision), Some(Decision::Allow));
    assert_eq!(
        workspace.command("dispatch plan submit p.json", "3").report.map(|report| report.decision),
        Some(Decision::Allow)
    );
    workspace.manifest(&json!({"modules": ["session"], "enforcePhases": true,
        "phasePolicy": {"UNINITIALIZED": {"allowTools": [], "mode": "warn"}}}));
    let warned = workspace.command("ls", "4");
    assert_eq!(warned.report.map(|report| report.decision), Some(Decision::Allow));
    assert_eq!(warned.context.len(), 1);
}

#[test]
fn a_rewrite_reaches_the_host_and_both_hashes_the_log() {
    let workspace = Workspace::new();
    let outcome = workspace.command("rewrite me", "1");
    assert_eq!(stdout(&outcome)["hookSpecificOutput"]["updatedInput"]["command"], "ls");
    let run = workspace.of_type(RecordType::HookRun).remove(0);
    assert_ne!(run.data["inputHash"], run.data["finalInputHash"]);
    assert_eq!(run.data["rewrittenBy"], "guard");
}

#[test]
fn an_exception_of_the_user_lets_a_rule_pass_and_is_on_record() {
    let workspace = Workspace::new();
    let until = dispatch_os::time::rfc3339(dispatch_os::time::unix_ms() + 60_000);
    let expired = "2020-01-01T00:00:00.000Z";
    workspace.write(".ai/tmp/exceptions.json", &json!([{"code": "G01", "until": expired}]).to_string());
    assert_eq!(workspace.command("deny me", "1").report.map(|report| report.decision), Some(Decision::Deny));
    workspace.write(
        ".ai/tmp/exceptions.json",
        &json!([7, {"code": "G01", "until": until, "reason": "cleaning"}]).to_string(),
    );
    assert_eq!(workspace.command("deny me", "1").report.map(|report| report.decision), Some(Decision::Allow));
    let used = workspace.of_type(RecordType::ExceptionUsed);
    assert_eq!(used.len(), 1);
    assert_eq!((&used[0].data["code"], &used[0].data["reason"]), (&json!("G01"), &json!("cleaning")));
}

#[test]
fn a_recorded_event_can_be_judged_again() {
    let workspace = Workspace::new();
    workspace.command("deny me", "1");
    let run = workspace.of_type(RecordType::HookRun).remove(0);
    let (event, whole) = event_of(&run).expect("an event");
    assert!(whole);
    assert_eq!(event.tool_input, json!({"command": "deny me"}));
    workspace.command(&"x".repeat(5_000), "2");
    let long = workspace.of_type(RecordType::HookRun).remove(1);
    assert!(!event_of(&long).expect("an event").1);
}

#[test]
fn modules_write_below_their_own_output_folder_and_nowhere_else() {
    let workspace = Workspace::new();
    let outcome = workspace.command("write a file", "1");
    assert_eq!(
        std::fs::read_to_string(workspace.session().join("guard/output/sub/a.txt")).ok().as_deref(),
        Some("one")
    );
    assert!(workspace.files().iter().all(|file| !file.contains("escape")), "{:?}", workspace.files());
    assert!(outcome.problems.iter().any(|problem| problem.contains("escape.txt")), "{:?}", outcome.problems);
}
