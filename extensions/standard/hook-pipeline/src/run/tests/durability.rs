//! The log is the truth, whole and never shortened; the state is a cache that never goes back.

use dispatch_hook_module::{RecordType, SessionState};
use serde_json::json;

use super::workspace::Workspace;
use crate::session_files::rebuild_state;

#[test]
fn many_writers_on_one_session_lose_and_tear_nothing() {
    let workspace = Workspace::new();
    std::thread::scope(|scope| {
        for worker in 0..16 {
            let workspace = &workspace;
            scope.spawn(move || {
                for number in 0..12 {
                    let filler = "x".repeat(1_500);
                    workspace.command(&format!("echo {filler}"), &format!("{worker}-{number}"));
                    if number % 6 == 0 {
                        workspace.fire("UserPromptSubmit", json!({"prompt": format!("{worker} {number}")}));
                    }
                }
            });
        }
    });
    let runs = workspace.of_type(RecordType::HookRun);
    assert_eq!(runs.len(), 16 * 12 + 16 * 2);
    assert_eq!(workspace.of_type(RecordType::ToolCall).len(), 16 * 12);
    let ids: std::collections::BTreeSet<String> = workspace.records().into_iter().map(|record| record.id).collect();
    assert_eq!(ids.len(), workspace.records().len());
    let run_ids: std::collections::BTreeSet<&str> = runs.iter().map(|record| record.hook_run_id.as_str()).collect();
    assert_eq!(run_ids.len(), runs.len());
    let mut turns: Vec<u64> = workspace.of_type(RecordType::Prompt).iter().map(|record| record.turn_id).collect();
    turns.sort_unstable();
    assert_eq!(turns, (1..=32).collect::<Vec<u64>>(), "every prompt is a turn of its own");
    assert_eq!(workspace.state()["core"]["lastTurnId"], 32);
}

#[test]
fn the_state_is_restored_from_the_log_alone() {
    let workspace = Workspace::new();
    workspace.fire("SessionStart", json!({"source": "startup"}));
    workspace.fire("UserPromptSubmit", json!({"prompt": "one"}));
    workspace.fire("SubagentStart", json!({"agent_id": "x", "agent_type": "Plan"}));
    workspace.fire("UserPromptSubmit", json!({"prompt": "/new two"}));
    let before = SessionState::from_value(workspace.state());
    assert_eq!((before.work_id(), before.last_turn_id()), (Some("w002"), 2));
    let rebuilt = rebuild_state(&workspace.session().join("events.jsonl")).expect("readable");
    assert_eq!(rebuilt, before);
}

#[test]
fn a_lost_snapshot_loses_nothing() {
    let workspace = Workspace::new();
    for prompt in ["one", "two", "/new three"] {
        workspace.fire("UserPromptSubmit", json!({"prompt": prompt}));
    }
    let before = workspace.state();
    for damage in [None, Some(""), Some("{"), Some("[]")] {
        let path = workspace.session().join("state.json");
        match damage {
            None => std::fs::remove_file(&path).expect("removable"),
            Some(text) => std::fs::write(&path, text).expect("writable"),
        }
        workspace.command("ls", &format!("{damage:?}"));
        let last = workspace.records().pop().expect("a record");
        assert_eq!((last.turn_id, last.work_id.as_str()), (3, "w002"), "{damage:?}");
        assert_eq!(workspace.state(), before, "{damage:?}");
    }
}

#[test]
fn a_snapshot_older_than_the_log_is_caught_up_with() {
    let workspace = Workspace::new();
    workspace.fire("UserPromptSubmit", json!({"prompt": "one"}));
    let old = std::fs::read(workspace.session().join("state.json")).expect("a state");
    workspace.fire("UserPromptSubmit", json!({"prompt": "two"}));
    std::fs::write(workspace.session().join("state.json"), old).expect("writable");
    workspace.command("ls", "1");
    assert_eq!(workspace.state()["core"]["lastTurnId"], 2);
    workspace.fire("UserPromptSubmit", json!({"prompt": "three"}));
    assert_eq!(workspace.of_type(RecordType::Prompt).pop().map(|record| record.turn_id), Some(3));
}

#[test]
fn a_torn_tail_stays_one_bad_line_and_the_next_call_works() {
    let workspace = Workspace::new();
    workspace.command("ls", "1");
    let path = workspace.session().join("events.jsonl");
    let mut bytes = std::fs::read(&path).expect("a log");
    bytes.extend_from_slice(b"{\"v\":1,\"id\":\"01");
    std::fs::write(&path, &bytes).expect("writable");
    workspace.command("ls", "2");
    let log = workspace.log();
    let bad: Vec<&str> =
        log.lines().filter(|line| dispatch_hook_module::Record::parse(line.as_bytes()).is_none()).collect();
    assert_eq!(bad, ["{\"v\":1,\"id\":\"01"]);
    assert!(log.as_bytes().starts_with(&bytes), "nothing that was written is touched");
}

#[test]
fn the_log_only_grows() {
    let workspace = Workspace::new();
    let mut before = String::new();
    for number in 0..10 {
        workspace.command("ls", &number.to_string());
        let after = workspace.log();
        assert!(after.starts_with(&before) && after.len() > before.len());
        before = after;
    }
}

#[test]
fn only_the_end_of_a_long_log_is_read() {
    let workspace = Workspace::new();
    workspace.fire("UserPromptSubmit", json!({"prompt": "one"}));
    let path = workspace.session().join("events.jsonl");
    let first = std::fs::read(&path).expect("a log");
    // A sparse file: reading all of it would take seconds and give no line.
    let file = std::fs::OpenOptions::new().write(true).open(&path).expect("writable");
    file.set_len(4 * 1024 * 1024 * 1024).expect("sparse");
    drop(file);
    workspace.command("ls", "1");
    let length = std::fs::metadata(&path).expect("a log").len();
    assert!(length > 4 * 1024 * 1024 * 1024 && first.len() < 10_000);
    assert_eq!(workspace.state()["core"]["lastTurnId"], 1);
}
