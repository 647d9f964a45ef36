//! Events of one's own reach workspace hooks through the event ledger: whatever dies between storing an event and running
//! what it starts, no event is lost and none is run twice.

use crate::call_counter::{CallCounter, Moment};
use crate::react_workspace::{Workspace, sh};
use crate::run_workspace::wait_until;
use dispatch_support::{Output, Served, slow_lane};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Outside the slow lane only one call in so many is one to die at.
const STEP: u64 = 17;
/// What the hook's program appends the event's number to.
const RAN: &str = "ran";
const SEND: &str = "/v1/workspace-hooks/events";

/// A workspace whose hook writes down which event it got.
fn workspace() -> Workspace {
    let script = format!("sed -n 's/.*\"n\":\"\\([a-z0-9]*\\)\".*/\\1/p' >> {RAN}");
    Workspace::new(&json!([{"id": "sent", "trigger": "custom:go", "command": sh(&script)}]))
}

fn send(workspace: &Workspace, id: &str, variables: &[(&str, &str)]) -> Output {
    let data = json!({ "n": id }).to_string();
    let arguments = ["event", "send", "go", "--id", id, "--data", &data, "--json"];
    workspace.context.run("dispatch", &arguments, b"", variables)
}

/// How often each event was run, once nothing waits any more.
fn ran(workspace: &Workspace, wanted: &BTreeSet<String>) -> BTreeMap<String, usize> {
    let lines = || {
        let mut times: BTreeMap<String, usize> = BTreeMap::new();
        workspace.read(RAN).lines().for_each(|line| *times.entry(line.to_owned()).or_default() += 1);
        times
    };
    wait_until("every event is run", || lines().keys().cloned().collect::<BTreeSet<_>>() == *wanted);
    wait_until("nothing runs any more", || {
        let runs = workspace.runs();
        runs.iter().all(|run| !matches!(run["status"].as_str(), Some("queued" | "running")))
    });
    lines()
}

/// The sender's own names of the events that are stored.
fn stored(workspace: &Workspace) -> BTreeSet<String> {
    let listed = workspace.context.dispatch(&["event", "list", "--limit", "1000", "--json"]).json();
    let events = listed["events"].as_array().cloned().unwrap_or_default();
    let id = |event: &Value| event["id"].as_str().and_then(|id| id.rsplit('/').next()).map(str::to_owned);
    events.iter().filter_map(id).collect()
}

fn once_each(wanted: &BTreeSet<String>) -> BTreeMap<String, usize> {
    wanted.iter().map(|id| (id.clone(), 1)).collect()
}

#[test]
fn the_same_event_again_starts_nothing_and_says_so() {
    let workspace = workspace();
    let first = send(&workspace, "one", &[]);
    assert_eq!((first.status, &first.json()["receipts"][0]["outcome"]), (0, &json!("queued")), "{first:?}");
    let again = send(&workspace, "one", &[]);
    assert_eq!((again.status, &again.json()["receipts"][0]["outcome"]), (0, &json!("repeated")), "{again:?}");
    let one = BTreeSet::from(["one".to_owned()]);
    assert_eq!(ran(&workspace, &one), once_each(&one));
}

#[test]
fn a_command_that_dies_at_any_call_loses_no_event_and_runs_none_twice() {
    let (workspace, counter) = (workspace(), CallCounter::compile());
    send(&workspace, "first", &[]);
    let mut struck: BTreeMap<String, usize> = BTreeMap::new();
    let mut forgotten = 0;
    for moment in [Moment::Before, Moment::Behind] {
        for at in (1..).step_by(if slow_lane() { 1 } else { STEP as usize }) {
            let id = format!("{}{at}", if moment == Moment::Before { "b" } else { "a" });
            let variables = counter.variables(at, moment);
            counter.arm();
            let variables = variables.each_ref().map(|(name, value)| (*name, value.as_str()));
            let sent = send(&workspace, &id, &variables);
            let Some(what) = counter.struck() else {
                assert_eq!(sent.status, 0, "{sent:?}");
                break;
            };
            *struck.entry(what).or_default() += 1;
            // Every other one is sent again, as its sender was told nothing; the others are left to whoever listens.
            if at % 2 == 0 || slow_lane() && at % 4 == 1 {
                let again = send(&workspace, &id, &[]);
                assert_eq!(again.status, 0, "{again:?}");
            } else {
                forgotten += 1;
            }
        }
    }
    let watch = workspace.watch();
    let wanted = stored(&workspace);
    assert_eq!(ran(&workspace, &wanted), once_each(&wanted));
    watch.stop();
    println!("{} events, {forgotten} not sent again, died at {struck:#?}", wanted.len());
    assert!(struck.values().sum::<usize>() > 4 && forgotten > 2, "{struck:?}");
}

#[test]
fn a_server_that_dies_at_any_call_runs_what_it_has_stored_when_it_is_back() {
    let (workspace, counter) = (workspace(), CallCounter::compile());
    send(&workspace, "first", &[]);
    let mut struck: BTreeMap<String, usize> = BTreeMap::new();
    for moment in [Moment::Before, Moment::Behind] {
        for at in (1..).step_by(if slow_lane() { 1 } else { STEP as usize }) {
            let id = format!("{}{at}", if moment == Moment::Before { "b" } else { "a" });
            let variables = counter.variables(at, moment);
            let variables = variables.each_ref().map(|(name, value)| (*name, value.as_str()));
            let mut served = Served::start(&workspace.context, &[], &variables);
            counter.arm();
            let event = json!({"name": "go", "id": id, "data": {"n": id}});
            let answer = served.client.try_post(SEND, &event);
            let died = counter.struck();
            served.kill();
            // Nobody sends it again; what is stored is run.
            let served = Served::start(&workspace.context, &[], &[]);
            let wanted = stored(&workspace);
            assert!(wanted.contains(&id) || answer.is_err(), "it was acknowledged: {answer:?}");
            assert_eq!(ran(&workspace, &wanted), once_each(&wanted));
            drop(served);
            let Some(what) = died else { break };
            *struck.entry(what).or_default() += 1;
        }
    }
    println!("{} events, died at {struck:#?}", stored(&workspace).len());
    assert!(struck.values().sum::<usize>() > 4, "{struck:?}");
}
