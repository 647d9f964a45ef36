//! The hook as hosts start it: many at once, fed with anything, on a broken disk.

use crate::agent::{ABC, Agent};
use dispatch_support::TestContext;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::Write;
use std::process::{Child, Stdio};

/// How many processes of one session run at once.
const PARALLEL: usize = 200;

/// How often they may try.
const ATTEMPTS: usize = 5;

fn start(context: &TestContext, payload: &[u8]) -> Child {
    let mut child = context
        .command("dispatch-hook")
        .args(["PreToolUse", "--host", "claude-code"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the hook starts");
    let mut stdin = child.stdin.take().expect("its input");
    // A process that was killed or has answered does not read on.
    let _ = stdin.write_all(payload);
    child
}

fn call(agent: &Agent<'_>, number: usize) -> Vec<u8> {
    let input = json!({"command": format!("echo {number}")});
    agent.payload("PreToolUse", &json!({"tool_name": "Bash", "tool_input": input, "tool_use_id": number.to_string()}))
}

fn log(context: &TestContext) -> String {
    let file = context.project().join(".ai/tmp").join(ABC).join("events.jsonl");
    String::from_utf8(std::fs::read(file).expect("the log")).expect("text")
}

fn records(log: &str) -> Vec<Value> {
    log.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// A manifest with room for a loaded machine: what is tested here is not the budget.
fn generous(context: &TestContext) {
    let modules = ["session", "self-guard", "graph-pretooluse"];
    let manifest = json!({"version": 1, "modules": modules, "budgets": {"PreToolUse": 60_000}});
    context.write(".ai/hooks/dispatch.manifest.json", manifest.to_string());
}

/// Runs them all; how many were on record. Whoever came as far as to write must be.
fn all_at_once() -> usize {
    let context = TestContext::new();
    let agent = Agent::new(&context, "abc");
    generous(&context);
    let children: Vec<Child> = (0..PARALLEL).map(|number| start(&context, &call(&agent, number))).collect();
    for child in children {
        let output = child.wait_with_output().expect("it ends");
        assert!(output.status.success(), "{output:?}");
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "{}");
    }
    let log = log(&context);
    let records = records(&log);
    assert_eq!(records.len(), log.lines().count(), "every line is whole");
    let runs: Vec<&Value> = records.iter().filter(|record| record["type"] == "HOOK_RUN").collect();
    let calls: BTreeSet<String> = runs.iter().map(|run| run["data"]["toolUseId"].to_string()).collect();
    let run_ids: BTreeSet<String> = runs.iter().map(|run| run["hookRunId"].to_string()).collect();
    let ids: BTreeSet<String> = records.iter().map(|record| record["id"].to_string()).collect();
    assert_eq!((calls.len(), run_ids.len()), (runs.len(), runs.len()));
    assert_eq!(ids.len(), records.len(), "record ids are unique");
    let trace = std::fs::read_to_string(context.project().join(".ai/tmp/dispatch.log")).expect("the trace");
    assert_eq!(trace.lines().count(), runs.len(), "nothing is lost between the trace and the log");
    assert!(!trace.contains("FAILED"), "{trace}");
    runs.len()
}

#[test]
fn two_hundred_processes_of_one_session_lose_and_tear_nothing() {
    // On a loaded machine the last resort may answer for a process that has not even read its input.
    let complete = (0..ATTEMPTS).any(|_| all_at_once() == PARALLEL);
    assert!(complete, "not once were all {PARALLEL} on record");
}

#[test]
fn anything_on_standard_input_gets_an_answer_and_silence_on_stderr() {
    let context = TestContext::new();
    Agent::new(&context, "abc");
    let huge = vec![b'['; 50 * 1024 * 1024];
    for payload in [b"".as_slice(), b"null", b"{\"tool", b"\xff\xfe\x00", b"[[[[", &huge] {
        let output = start(&context, payload).wait_with_output().unwrap();
        assert!(output.status.success(), "{:?}", output.status);
        assert_eq!((output.stdout.as_slice(), output.stderr.as_slice()), (b"{}\n".as_slice(), b"".as_slice()));
    }
}

#[test]
fn a_work_folder_that_cannot_be_written_does_not_stop_the_answer() {
    let context = TestContext::new();
    let agent = Agent::new(&context, "abc");
    context.write(".ai/tmp", "a file where a folder should be");
    let payload = agent.payload(
        "PreToolUse",
        &json!({"tool_name": "Bash", "tool_input": {"command": "rm -rf /srv/data"}, "tool_use_id": "1"}),
    );
    let output = start(&context, &payload).wait_with_output().unwrap();
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["hookSpecificOutput"]["permissionDecision"], "deny", "{answer}");
}
