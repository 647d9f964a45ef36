//! Times of a schedule, kept by processes that are killed and started again.

use crate::react_workspace::{Workspace, is_over, sh};
use crate::run_workspace::wait_until;
use serde_json::json;
use std::collections::BTreeSet;

#[test]
fn no_time_of_a_schedule_runs_twice_over_kills_and_restarts() {
    let command = sh("echo tick >> ticks");
    let hook = json!({"id": "tick", "trigger": "schedule", "schedule": "* * * * * *", "command": command});
    let workspace = Workspace::new(&json!([hook]));
    let ticks = || workspace.read("ticks").lines().count();
    for _ in 0..4 {
        let killed = workspace.watch();
        let before = ticks();
        wait_until("times come", || ticks() >= before + 2);
        drop(killed);
    }
    let last = workspace.watch();
    last.wait_for_ended(1);
    workspace.set(&json!([]));
    wait_until("what was begun is over", || workspace.runs().iter().all(is_over));
    last.stop();
    let runs = workspace.runs();
    let times: BTreeSet<u64> = runs.iter().filter_map(|run| run["metadata"]["dueMs"].as_u64()).collect();
    assert_eq!(times.len(), runs.len(), "each time has one run: {runs:#?}");
    assert!(times.iter().all(|at_ms| at_ms % 1_000 == 0), "{times:?}");
    let succeeded = runs.iter().filter(|run| run["status"] == "success").count();
    assert!(succeeded >= 8, "{runs:#?}");
}
