//! When a whole invocation asks the graph database, and what it leaves of the answer.

use std::time::Duration;

use dispatch_hook_module::{Clock, Effects, RecordType, SystemClock};
use serde_json::{Value, json};

use super::workspace::Workspace;
use crate::neo4j::FRESH_MS;
use crate::neo4j::tests::{AnsweringListener, BOLT_5_4, closed_port};

const START_MS: i64 = 1_700_000_000_000;

/// A wall clock that stands where a test puts it.
struct StoppedClock(i64, SystemClock);

impl Clock for StoppedClock {
    fn unix_ms(&self) -> i64 {
        self.0
    }

    fn elapsed(&self) -> Duration {
        self.1.elapsed()
    }
}

fn workspace(port: u16) -> Workspace {
    let workspace = Workspace::new();
    configure(&workspace, json!({"url": format!("bolt://127.0.0.1:{port}")}));
    workspace
}

fn configure(workspace: &Workspace, section: Value) {
    workspace.write(".ai/hooks/config.json", &json!({"neo4j": section}).to_string());
}

fn fire_at(workspace: &Workspace, event: &str, now_ms: i64) {
    // Without an id of its own no event counts as a second delivery.
    let more = json!({
        "prompt": "hi", "tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_response": {},
        "agent_id": "x", "agent_type": "Plan",
    });
    let payload = workspace.payload(event, more).to_string();
    let clock = StoppedClock(now_ms, SystemClock::start());
    workspace.invoke_at(payload.as_bytes(), Effects::Commit, &clock);
}

#[test]
fn nothing_is_connected_to_before_a_tool_call_in_a_dry_run_or_without_a_configuration() {
    let server = AnsweringListener::start(BOLT_5_4);
    let workspace = workspace(server.port);
    for moment in 0..3 {
        fire_at(&workspace, "PreToolUse", START_MS + moment * 2 * FRESH_MS);
        fire_at(&workspace, "Notification", START_MS + moment * 2 * FRESH_MS);
    }
    let payload = workspace.payload("SessionStart", json!({})).to_string();
    workspace.invoke(payload.as_bytes(), Effects::DryRun);
    configure(&workspace, json!({"user": "neo4j"}));
    fire_at(&workspace, "SessionStart", START_MS);
    assert_eq!(server.connections(), 0);
    assert_eq!(workspace.state()["cap"], Value::Null);
}

#[test]
fn an_answer_is_kept_for_five_minutes_whatever_happens_in_between() {
    let server = AnsweringListener::start(BOLT_5_4);
    let workspace = workspace(server.port);
    fire_at(&workspace, "SessionStart", START_MS);
    assert_eq!(server.connections(), 1);
    let known = json!({"enabled": true, "reachable": true, "schemaVersion": "Bolt/5.4", "lastCheckTs": START_MS});
    assert_eq!(workspace.state()["cap"]["neo4j"], known);
    for event in ["UserPromptSubmit", "PreToolUse", "PostToolUse", "PreCompact", "SubagentStart", "Stop"] {
        fire_at(&workspace, event, START_MS + FRESH_MS - 1);
    }
    assert_eq!(server.connections(), 1);
    fire_at(&workspace, "UserPromptSubmit", START_MS + FRESH_MS);
    assert_eq!(server.connections(), 2);
    assert_eq!(workspace.state()["cap"]["neo4j"]["lastCheckTs"], START_MS + FRESH_MS);
}

#[test]
fn a_clock_that_was_set_back_leads_to_a_new_check() {
    let server = AnsweringListener::start(BOLT_5_4);
    let workspace = workspace(server.port);
    fire_at(&workspace, "SessionStart", START_MS + 1_000 * FRESH_MS);
    for _ in 0..3 {
        fire_at(&workspace, "Stop", START_MS);
    }
    assert_eq!(server.connections(), 3, "one before, one that removes the time to come, one that is kept");
    assert_eq!(workspace.state()["cap"]["neo4j"]["lastCheckTs"], START_MS);
}

#[test]
fn a_database_that_is_not_reachable_is_warned_about_once_and_blocks_nothing() {
    let workspace = workspace(closed_port());
    fire_at(&workspace, "SessionStart", START_MS);
    fire_at(&workspace, "Stop", START_MS + FRESH_MS);
    let warnings = workspace.of_type(RecordType::Warning);
    let text = "neo4j is not reachable: cannot connect: connection refused";
    assert_eq!(warnings.iter().map(|record| &record.data["message"]).collect::<Vec<_>>(), [text]);
    let found = &workspace.state()["cap"]["neo4j"];
    assert_eq!((&found["enabled"], &found["reachable"]), (&json!(true), &json!(false)));

    let server = AnsweringListener::start(BOLT_5_4);
    configure(&workspace, json!({"url": format!("bolt://localhost:{}", server.port)}));
    fire_at(&workspace, "Stop", START_MS + 2 * FRESH_MS);
    assert_eq!(workspace.state()["cap"]["neo4j"]["reachable"], true);
    configure(&workspace, json!({}));
    fire_at(&workspace, "Stop", START_MS + 2 * FRESH_MS);
    assert_eq!(workspace.state()["cap"]["neo4j"], json!({"enabled": false, "reachable": false}));
}

#[test]
fn a_black_hole_costs_a_small_part_of_the_budget_and_is_remembered() {
    let server = AnsweringListener::start(b"");
    let workspace = workspace(server.port);
    fire_at(&workspace, "Stop", START_MS);
    fire_at(&workspace, "Stop", START_MS + 1);
    assert_eq!(server.connections(), 1);
    assert_eq!(workspace.state()["cap"]["neo4j"]["reachable"], false);
    let runs = workspace.of_type(RecordType::HookRun);
    assert!(runs.iter().all(|run| run.data["decision"] == "allow" && run.data.get("outOfTimeAt").is_none()));
}
