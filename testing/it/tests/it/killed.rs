//! Processes that are killed at random moments: nothing that was written is lost, and the next one works.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::conformance::PipelineWorkspace;
use crate::seeded_random::SeededRandom;
use dispatch_support::TestContext;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::Write;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// How many processes are killed, all told.
const KILLED: u64 = 500;
/// How many run at once.
const IN_FLIGHT: u64 = 4;
/// The longest life of a process that is killed; most are done after half of it.
const LONGEST_MICROS: u64 = 6_000;

fn start(context: &TestContext, event: &str, payload: &Value) -> Child {
    let mut child = context
        .command("dispatch-hook")
        .args([event, "--host", "native"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the hook starts");
    // A process that was killed does not read on.
    let _ = child.stdin.take().expect("its input").write_all(payload.to_string().as_bytes());
    child
}

/// An event of every kind that writes: prompts change the state, subagents get ids, calls are only logged.
fn event(workspace: &PipelineWorkspace, number: u64) -> (&'static str, Value) {
    let (name, more) = match number % 4 {
        0 => ("UserPromptSubmit", json!({ "prompt": format!("prompt {number}") })),
        1 => ("SubagentStart", json!({"agent_id": format!("agent {}", number / 16), "agent_type": "x"})),
        _ => {
            let input = json!({ "command": format!("echo {number}") });
            ("PreToolUse", json!({"tool_name": "Bash", "tool_input": input, "tool_use_id": number.to_string()}))
        }
    };
    (name, workspace.payload(name, &more))
}

fn wait_until(moment: Instant) {
    // Shorter than a sleep can be told to take.
    while Instant::now() < moment {
        std::hint::spin_loop();
    }
}

fn whole_records(log: &str) -> Vec<Value> {
    log.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

fn unique(records: &[Value], key: &str) -> usize {
    records.iter().map(|record| record[key].to_string()).collect::<BTreeSet<_>>().len()
}

/// What the state says that must never go back.
fn standing(state: &Value) -> (u64, usize, bool) {
    let core = &state["core"];
    let agents = core["agents"].as_object().map_or(0, serde_json::Map::len);
    (core["lastTurnId"].as_u64().unwrap_or(0), agents, core["phase"] == "PLANNING")
}

#[test]
fn five_hundred_random_kills_lose_nothing_that_was_written() {
    let seed = std::env::var("DISPATCH_TEST_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(20_260_102);
    let mut random = SeededRandom(seed);
    let workspace = PipelineWorkspace::with(&["session", "self-guard", "graph-pretooluse"]);
    let (mut before, mut last) = (String::new(), (0, 0, false));
    for round in 0..KILLED / IN_FLIGHT {
        let first = round * IN_FLIGHT;
        let mut children: Vec<(Child, Instant)> = (first..first + IN_FLIGHT)
            .map(|number| {
                let (name, payload) = event(&workspace, number);
                let child = start(&workspace.context, name, &payload);
                (child, Instant::now() + Duration::from_micros(random.below(LONGEST_MICROS)))
            })
            .collect();
        children.sort_by_key(|(_, moment)| *moment);
        for (child, moment) in &mut children {
            wait_until(*moment);
            // One that has ended already is a case too.
            let _ = child.kill();
        }
        for (child, _) in &mut children {
            child.wait().unwrap();
        }
        let log =
            String::from_utf8(std::fs::read(workspace.session().join("events.jsonl")).unwrap_or_default()).unwrap();
        assert!(log.starts_with(&before), "seed {seed}, round {round}: the log only grows");
        before = log;
        let text = workspace.text("state.json");
        if !text.is_empty() {
            let state = serde_json::from_str(&text).unwrap_or_else(|error| panic!("seed {seed}: {error} in {text}"));
            let now = standing(&state);
            assert!(now.0 >= last.0 && now.1 >= last.1 && now.2 >= last.2, "seed {seed}: {last:?} -> {now:?}");
            last = now;
        }
    }
    check_what_is_left(&workspace, seed);
}

fn check_what_is_left(workspace: &PipelineWorkspace, seed: u64) {
    let torn = |log: &str| log.lines().filter(|line| serde_json::from_str::<Value>(line).is_err()).count();
    let killed = workspace.text("events.jsonl");
    // One write appends all records of an invocation, so a kill leaves all of them or none.
    assert!(torn(&killed) <= 1, "seed {seed}: at most the last line is cut");
    assert_eq!(workspace.decision("echo after"), "allow", "seed {seed}: the next one works");
    let log = workspace.text("events.jsonl");
    assert!(log.starts_with(&killed) && log.ends_with('\n'), "seed {seed}");
    let records = whole_records(&log);
    let runs: Vec<Value> = records.iter().filter(|record| record["type"] == "HOOK_RUN").cloned().collect();
    assert!(runs.len() > 20, "seed {seed}: only {} runs got far enough to tell anything", runs.len());
    assert!(runs.len() < KILLED as usize, "seed {seed}: nothing was killed in time");
    assert_eq!(unique(&records, "id"), records.len(), "seed {seed}: record ids are unique");
    assert_eq!(unique(&runs, "hookRunId"), runs.len(), "seed {seed}: run ids are unique");
    let prompts: Vec<Value> = records.iter().filter(|record| record["type"] == "PROMPT").cloned().collect();
    assert_eq!(unique(&prompts, "turnId"), prompts.len(), "seed {seed}: no turn is given twice");
    let state = workspace.state();
    let newest = prompts.iter().filter_map(|prompt| prompt["turnId"].as_u64()).max().unwrap_or(0);
    assert!(standing(&state).0 <= newest, "seed {seed}: the state knows of no turn that the log does not");
    let (before, rebuilt) = (standing(&state), workspace.context.dispatch(&["state", "rebuild"]));
    assert_eq!(rebuilt.status, 0, "seed {seed}: {rebuilt:?}");
    let after = standing(&workspace.state());
    assert!(after.0 >= before.0 && after.1 >= before.1, "seed {seed}: the log knows all that the state knew");
}
