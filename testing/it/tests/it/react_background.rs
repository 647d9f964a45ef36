//! Hooks in the background as people expect them: at the same time, each event once, none lost, again when asked.

use crate::react_workspace::{FILE, Workspace, hooks_of, sh};
use crate::run_workspace::wait_until;
use dispatch_support::slow_lane;
use serde_json::{Value, json};

const SAVED: &str = "onDidSaveTextDocument";

/// A program that ends only if all the others have begun.
fn meeting(name: &str, others: &[&str]) -> Value {
    let waits: String = others.iter().map(|other| format!("until [ -e met/{other} ]; do sleep 0.02; done; ")).collect();
    sh(&format!("mkdir -p met; touch met/{name}; {waits}"))
}

#[test]
fn hooks_of_one_save_run_at_the_same_time() {
    let hook = |id: &str, others: &[&str]| json!({"id": id, "trigger": SAVED, "pattern": "*.txt", "command": meeting(id, others)});
    let workspace = Workspace::new(&json!([hook("a", &["b", "c"]), hook("b", &["a", "c"]), hook("c", &["a", "b"])]));
    let watch = workspace.watch();
    workspace.save("x.txt", "x");
    let runs = watch.wait_for_ended(3);
    assert!(runs.iter().all(|run| run["status"] == "success"), "{runs:?}");
    watch.stop();
}

#[test]
fn a_hook_runs_for_several_files_at_the_same_time_up_to_its_limit() {
    let script = "n=$(basename \"$DISPATCH_FILE\" .txt); mkdir -p met; touch met/$n; \
                  until [ $(ls met | wc -l) -ge 2 ]; do sleep 0.02; done; ls now 2>/dev/null | wc -l; \
                  mkdir -p now; touch now/$n; [ $(ls now | wc -l) -le 2 ] || echo too many; sleep 0.1; rm now/$n";
    let workspace = Workspace::new(
        &json!([{"id": "h", "trigger": SAVED, "pattern": "*.txt", "command": sh(script), "concurrency": 2}]),
    );
    let watch = workspace.watch();
    for name in ["1", "2", "3", "4", "5"] {
        workspace.save(&format!("{name}.txt"), name);
    }
    let runs = watch.wait_for_ended(5);
    assert!(runs.iter().all(|run| run["status"] == "success"), "{runs:?}");
    assert!(!watch.out().contains("too many"), "{}", watch.out());
    watch.stop();
}

#[test]
fn every_hook_that_matches_runs() {
    let names = ["zeta", "alpha", "mid", "beta", "omega"];
    let hooks: Vec<Value> =
        names.iter().map(|id| json!({"id": id, "trigger": SAVED, "pattern": "**/*.txt", "command": ["cat"]})).collect();
    let workspace = Workspace::new(&Value::Array(hooks));
    let watch = workspace.watch();
    workspace.save("deep/er/x.txt", "x");
    assert_eq!(hooks_of(&watch.wait_for_ended(5)), ["alpha", "beta", "mid", "omega", "zeta"]);
    watch.stop();
    assert_eq!(workspace.runs().len(), 5);
}

#[test]
fn an_event_during_a_run_is_not_lost() {
    let script = "cat a.txt; touch begun; until [ -e release ]; do sleep 0.02; done";
    let workspace = Workspace::new(
        &json!([{"id": "h", "trigger": SAVED, "pattern": "a.txt", "command": sh(script), "debounceMs": 0}]),
    );
    let watch = workspace.watch();
    workspace.save("a.txt", "one");
    workspace.wait_for_file("begun");
    workspace.save("a.txt", "two");
    wait_until("it waits", || workspace.runs().len() == 2);
    workspace.save("release", "");
    let runs = watch.wait_for_ended(2);
    assert_eq!((&runs[0]["logs"], &runs[1]["logs"]), (&"one".into(), &"two".into()));
    watch.stop();
}

#[test]
fn many_saves_in_a_moment_are_one_run_with_the_last_content() {
    let workspace = Workspace::new(
        &json!([{"id": "h", "trigger": SAVED, "pattern": "*.txt", "command": sh("cat \"$DISPATCH_FILE\""), "debounceMs": 1500}]),
    );
    let watch = workspace.watch();
    for number in 1..=20 {
        workspace.save("a.txt", &format!("content {number}"));
    }
    let runs = watch.wait_for_ended(1);
    assert_eq!(runs[0]["logs"], "content 20");
    // What has the same content again is no news.
    workspace.save("a.txt", "content 20");
    workspace.save("b.txt", "other");
    let runs = watch.wait_for_ended(2);
    assert_eq!((&runs[1]["files"][0]["path"], &runs[1]["logs"]), (&"b.txt".into(), &"other".into()));
    watch.stop();
    assert_eq!(workspace.runs().len(), 2);
}

#[test]
fn a_failure_is_tried_again_until_it_works() {
    let script = "echo x >> tried; [ $(wc -l < tried) -ge 3 ]";
    let retry = json!({"count": 5, "backoffMs": 50, "backoffFactor": 3});
    let workspace = Workspace::new(&json!([{"id": "h", "trigger": "manual", "command": sh(script), "retry": retry}]));
    let output = workspace.start("h", &[]);
    let run = output.json();
    assert_eq!((output.status, &run["status"], &run["attempts"]), (0, &"success".into(), &3.into()), "{run}");
    assert_eq!(workspace.read("tried").lines().count(), 3);
    let waits: Vec<Value> =
        workspace.log_of(&run).into_iter().filter(|line| line["status"] == "queued" && line["attempts"] != 0).collect();
    assert!(waits.iter().all(|line| line["reason"].as_str().is_some_and(|reason| !reason.is_empty())), "{waits:?}");
    assert_eq!(waits.len(), 2);
}

#[test]
fn a_timeout_of_nothing_is_refused_with_a_hint() {
    let hook = json!({"id": "h", "trigger": "manual", "command": ["cat"], "timeoutMs": 0});
    let workspace = Workspace { context: dispatch_support::TestContext::new() };
    workspace.save(FILE, &json!({ "hooks": [hook] }).to_string());
    let checked = workspace.context.dispatch(&["workspace-hooks", "check", "--json"]);
    assert_eq!(checked.status, 1);
    let problem = &checked.json()[0];
    assert_eq!(problem["pointer"], "/hooks/0/timeoutMs");
    assert!(problem["hint"].as_str().is_some_and(|hint| hint.contains("86400000")), "{problem}");
}

#[test]
fn a_run_can_be_repeated_by_hand() {
    let workspace = Workspace::new(
        &json!([{"id": "h", "trigger": SAVED, "pattern": "*.txt", "command": sh("cat a.txt; [ -e ready ]")}]),
    );
    let watch = workspace.watch();
    workspace.save("a.txt", "text");
    let first = watch.wait_for_ended(1).remove(0);
    assert_eq!(first["status"], "failed");
    watch.stop();
    workspace.save("ready", "");
    let again = workspace.context.dispatch(&["runs", "retry", first["id"].as_str().unwrap(), "--wait", "--json"]);
    let run = again.json();
    assert_eq!((again.status, &run["status"], &run["retryOf"]), (0, &"success".into(), &first["id"]), "{run}");
    assert_eq!((&run["files"][0]["path"], &run["logs"]), (&"a.txt".into(), &"text".into()));
    // The same content again, because a person wants it.
    let more = workspace.context.dispatch(&["runs", "retry", run["id"].as_str().unwrap(), "--wait", "--json"]);
    assert_eq!(more.json()["status"], "success");
    assert_eq!(workspace.runs().len(), 3);
}

#[test]
fn every_save_of_many_files_runs() {
    let files = if slow_lane() { 1_000 } else { 60 };
    let workspace = Workspace::new(&json!([{"id": "h", "trigger": SAVED, "pattern": "*.txt", "command": ["true"],
        "debounceMs": 0}]));
    let watch = workspace.watch();
    for number in 0..files {
        workspace.save(&format!("{number}.txt"), "text");
    }
    let runs = watch.wait_for_ended(files);
    let paths: std::collections::BTreeSet<&str> =
        runs.iter().filter_map(|run| run["files"][0]["path"].as_str()).collect();
    assert_eq!((runs.len(), paths.len()), (files, files));
    watch.stop();
}
