//! What can go wrong with a run, each kind with its own end.

use crate::react_workspace::{Workspace, sh};
use crate::run_workspace::{alive, wait_until};
use serde_json::json;

#[test]
fn a_program_that_fails_is_an_execution_error() {
    let workspace =
        Workspace::new(&json!([{"id": "h", "trigger": "manual", "command": sh("echo out; echo no >&2; exit 3")}]));
    let output = workspace.start("h", &[]);
    assert_eq!(output.status, 1, "{output:?}");
    let run = output.json();
    assert_eq!((&run["status"], &run["exitCode"], &run["attempts"]), (&"failed".into(), &3.into(), &1.into()));
    assert_eq!(run["reason"], "exit code 3: no");
    let logs = run["logs"].as_str().unwrap();
    assert!(logs.contains("out") && logs.contains("no"), "{logs}");
}

#[test]
fn a_program_that_takes_too_long_is_stopped_with_everything_it_started() {
    // Nobody else sleeps this long.
    let seconds = format!("{}.71", 100_000 + std::process::id());
    let script = format!("setsid sleep {seconds} & (sleep {seconds} &) ; touch begun; sleep {seconds}");
    let workspace =
        Workspace::new(&json!([{"id": "h", "trigger": "manual", "command": sh(&script), "timeoutMs": 3000}]));
    let run = workspace.start("h", &[]).json();
    assert_eq!((&run["status"], &run["attempts"]), (&"timeout".into(), &1.into()), "{run}");
    assert!(run["startTs"].is_string() && run["endTs"].is_string());
    workspace.wait_for_file("begun");
    wait_until("nothing of it is left", || alive(&seconds).is_empty());
    let statuses: Vec<_> = workspace.log_of(&run).iter().map(|line| line["status"].clone()).collect();
    assert_eq!(statuses, ["queued", "running", "timeout"]);
}

#[test]
fn a_program_that_is_not_there_is_told_at_once_and_not_tried_again() {
    let retry = json!({"count": 5, "backoffMs": 60000});
    let workspace = Workspace::new(&json!([
        {"id": "command", "trigger": "manual", "command": ["no-such-program-anywhere"], "retry": retry},
        {"id": "agent", "trigger": "manual", "prompt": "hello", "retry": retry,
         "runner": {"command": ["no-such-agent-anywhere", "{prompt}"]}},
    ]));
    for (hook, program) in [("command", "no-such-program-anywhere"), ("agent", "no-such-agent-anywhere")] {
        let output = workspace.start(hook, &[]);
        let run = output.json();
        assert_eq!((output.status, &run["status"], &run["attempts"]), (1, &"failed".into(), &1.into()), "{run}");
        assert!(run["reason"].as_str().is_some_and(|reason| reason.contains(program)), "{run}");
        assert!(run["exitCode"].is_null(), "{run}");
    }
}
