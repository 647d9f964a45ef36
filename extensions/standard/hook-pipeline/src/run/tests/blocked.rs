//! What blocks the work of a session, and what does not.

use dispatch_hook_module::{Decision, RecordType};
use serde_json::{Value, json};

use super::workspace::Workspace;
use crate::session_access::rebuild_session_state;

fn enforcing(more: &Value) -> Workspace {
    let workspace = Workspace::new();
    let open = json!({"allowTools": "*", "mode": "allow"});
    let mut manifest = json!({
        "modules": ["session", "guard"], "rewriteOwner": "guard", "enforcePhases": true,
        "phasePolicy": {"PLANNING": open, "UNINITIALIZED": open},
    });
    manifest.as_object_mut().expect("an object").extend(more.as_object().cloned().unwrap_or_default());
    workspace.manifest(&manifest);
    workspace.fire("UserPromptSubmit", json!({"prompt": "go"}));
    workspace
}

fn phase(workspace: &Workspace) -> String {
    workspace.state()["core"]["phase"].as_str().unwrap_or_default().to_owned()
}

fn deny(workspace: &Workspace, times: usize) -> String {
    let mut reason = String::new();
    for number in 0..times {
        let outcome = workspace.command("deny me", &format!("{number}-{}", workspace.log().len()));
        reason = outcome.answer.reason.unwrap_or_default();
    }
    reason
}

#[test]
fn refused_calls_of_one_turn_block_the_work_and_say_the_way_out() {
    let workspace = enforcing(&json!({}));
    assert!(!deny(&workspace, 4).contains("blocked"));
    workspace.fire("UserPromptSubmit", json!({"prompt": "once more"}));
    deny(&workspace, 4);
    assert_eq!(phase(&workspace), "PLANNING", "a new turn counts anew");
    let reason = deny(&workspace, 1);
    assert_eq!(phase(&workspace), "BLOCKED");
    assert!(
        reason.starts_with("G01: the test says no\n") && reason.contains("The work is blocked now: 5 calls"),
        "{reason}"
    );
    assert!(reason.contains("`dispatch phase set PLANNING --reason TEXT`"), "{reason}");
    let changed = workspace.of_type(RecordType::PhaseChanged).pop().expect("on record");
    assert_eq!(
        changed.data,
        json!({"from": "PLANNING", "to": "BLOCKED", "trigger": "policy violation",
            "reason": "5 calls of one turn were refused, the last by G01"})
    );
    let refused = workspace.command("make", "9");
    let reason = refused.answer.reason.unwrap_or_default();
    assert_eq!(refused.answer.decision, Decision::Deny);
    assert!(reason.contains("5 calls of one turn") && reason.contains("dispatch phase set PLANNING"), "{reason}");
}

#[test]
fn the_log_alone_tells_that_the_work_is_blocked() {
    let workspace = enforcing(&json!({"blockOn": {"codes": ["G01"]}}));
    deny(&workspace, 1);
    let before = workspace.state();
    assert_eq!((&before["core"]["phase"], &before["core"]["blockedFrom"]), (&json!("BLOCKED"), &json!("PLANNING")));
    let paths = dispatch_hook_module::Paths::new(workspace.root(), "ba7816bf");
    std::fs::remove_file(paths.state_file()).expect("a state");
    let rebuilt = rebuild_session_state(&paths).expect("readable").expect("free");
    assert_eq!(rebuilt.after.to_value(), before);
}

#[test]
fn where_phases_are_not_enforced_no_refusal_blocks() {
    let workspace = enforcing(&json!({"enforcePhases": false, "blockOn": {"codes": ["*"], "refusalsPerTurn": 1}}));
    deny(&workspace, 7);
    assert_eq!(phase(&workspace), "PLANNING");
    assert_eq!(workspace.command("make", "after").answer.decision, Decision::Allow);
}

#[test]
fn what_the_phase_itself_refuses_is_no_violation() {
    let closed = json!({"allowTools": [], "mode": "deny"});
    let workspace = enforcing(&json!({"phasePolicy": {"PLANNING": closed}, "blockOn": {"refusalsPerTurn": 1}}));
    for number in 0..3 {
        let outcome = workspace.command("make", &number.to_string());
        assert_eq!(outcome.answer.code.as_deref(), Some("PHASE_POLICY"));
    }
    assert_eq!(phase(&workspace), "PLANNING");
}

#[test]
fn a_change_of_the_rules_blocks_at_once() {
    let workspace = enforcing(&json!({"modules": ["session", "self-guard", "guard"], "unattended": "deny"}));
    let outcome = workspace.command("rm .ai/hooks/config.json", "1");
    assert_eq!(outcome.answer.decision, Decision::Deny, "{outcome:?}");
    assert_eq!(phase(&workspace), "BLOCKED");
    let reason = outcome.answer.reason.unwrap_or_default();
    assert!(reason.contains("The work is blocked now: a call was refused by SG01"), "{reason}");
}

#[test]
fn after_a_person_took_the_work_up_again_refusals_count_anew() {
    let workspace = enforcing(&json!({"blockOn": {"refusalsPerTurn": 2}}));
    deny(&workspace, 2);
    assert_eq!(phase(&workspace), "BLOCKED");
    let paths = dispatch_hook_module::Paths::new(workspace.root(), "ba7816bf");
    let state = crate::session_access::session_state(&paths).expect("a state");
    let later = state.get("core", "phaseTs").and_then(Value::as_i64).expect("a time") + 1;
    let patch = json!({"core": dispatch_hook_module::state::BlockedWork::lifted_patch(
        dispatch_hook_module::phase::Phase::Planning, later)});
    let record = dispatch_hook_module::EmittedRecord {
        kind: RecordType::PhaseChanged,
        data: json!({"from": "BLOCKED", "to": "PLANNING", "reason": "looked at it"}),
    };
    crate::session_access::append_to_session(&paths, &state, "session", vec![record], Some(patch)).expect("written");
    assert_eq!(phase(&workspace), "PLANNING");
    deny(&workspace, 1);
    assert_eq!(phase(&workspace), "PLANNING");
    deny(&workspace, 1);
    assert_eq!(phase(&workspace), "BLOCKED");
}

#[test]
fn a_dry_run_blocks_nothing() {
    let workspace = enforcing(&json!({"blockOn": {"codes": ["G01"]}}));
    let payload = workspace.payload("PreToolUse", json!({"tool_name": "Bash", "tool_input": {"command": "deny me"}}));
    let outcome = workspace.invoke(payload.to_string().as_bytes(), dispatch_hook_module::Effects::DryRun);
    assert_eq!(outcome.answer.reason.as_deref(), Some("the test says no"));
    assert_eq!(phase(&workspace), "PLANNING");
}
