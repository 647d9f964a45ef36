//! Where an invocation writes when the workspace says so itself.

use dispatch_hook_module::Effects;
use dispatch_trust::Trust;
use serde_json::json;

use super::workspace::Workspace;
use crate::rule_trust::{RuleTrust, weakened_rules};
use crate::work_layout::workspace_paths;

const LAYOUT: &str = ".ai/hooks/workspace.json";

fn fire(workspace: &Workspace, trust: RuleTrust<'_>) {
    let payload = workspace.payload("PreToolUse", json!({"tool_name": "Bash", "tool_input": {"command": "ls"}}));
    workspace.invoke_trusting(payload.to_string().as_bytes(), Effects::Commit, trust);
}

#[test]
fn a_layout_counts_once_it_is_approved_and_leads_nowhere_else() {
    let workspace = Workspace::new();
    let layout = json!({"workRoot": ".ai/tmp/team", "eventsFile": "log.jsonl", "stateFile": "now.json",
        "traceFile": "trace.log"});
    workspace.write(LAYOUT, &layout.to_string());
    let trust_file = workspace.root().join("trust.json");
    let trust = RuleTrust::File(&trust_file);
    fire(&workspace, trust);
    assert!(workspace.files().contains(&"ba7816bf/events.jsonl".to_owned()), "{:?}", workspace.files());
    assert!(workspace.files().iter().all(|file| !file.starts_with("team/")), "{:?}", workspace.files());
    let paths = workspace_paths(workspace.root(), "ba7816bf", trust);
    let waiting: Vec<String> =
        weakened_rules(&paths, trust).into_iter().filter(|line| line.contains("workspace.json")).collect();
    assert_eq!(waiting.len(), 4, "{waiting:?}");
    assert!(waiting[0].contains("`workRoot`") && waiting[0].contains("has no effect"), "{waiting:?}");

    let mut approvals = Trust::default();
    approvals.approve(workspace.root().join(LAYOUT), layout.to_string().as_bytes()).expect("a path that is text");
    approvals.write(&trust_file).expect("writable");
    fire(&workspace, trust);
    for file in ["team/ba7816bf/log.jsonl", "team/ba7816bf/now.json", "team/trace.log"] {
        assert!(workspace.files().contains(&file.to_owned()), "{file} is missing: {:?}", workspace.files());
    }
    let paths = workspace_paths(workspace.root(), "ba7816bf", trust);
    assert_eq!(paths.events_file(), workspace.root().join(".ai/tmp/team/ba7816bf/log.jsonl"));
    assert!(weakened_rules(&paths, trust).iter().all(|line| !line.contains("workspace.json")));
}

#[test]
fn an_approved_layout_with_a_way_out_leaves_the_defaults() {
    let workspace = Workspace::new();
    workspace.write(LAYOUT, &json!({"workRoot": "../elsewhere", "eventsFile": "../../x.jsonl"}).to_string());
    fire(&workspace, RuleTrust::Everything);
    assert!(workspace.files().contains(&"ba7816bf/events.jsonl".to_owned()), "{:?}", workspace.files());
    assert!(!workspace.root().parent().expect("a parent").join("elsewhere").exists());
}

#[cfg(unix)]
#[test]
fn a_layout_whose_folder_is_a_link_writes_nothing_there() {
    let workspace = Workspace::new();
    let outside = tempfile::tempdir().expect("a folder");
    workspace.write(".ai/tmp/keep.txt", "");
    std::os::unix::fs::symlink(outside.path(), workspace.root().join(".ai/tmp/team")).expect("a link");
    workspace.write(LAYOUT, &json!({"workRoot": ".ai/tmp/team"}).to_string());
    fire(&workspace, RuleTrust::Everything);
    assert_eq!(std::fs::read_dir(outside.path()).expect("readable").count(), 0);
}

#[cfg(unix)]
#[test]
fn a_layout_below_a_folder_that_is_a_link_writes_nothing_there() {
    let workspace = Workspace::new();
    let outside = tempfile::tempdir().expect("a folder");
    workspace.write(".ai/tmp/keep.txt", "");
    std::os::unix::fs::symlink(outside.path(), workspace.root().join(".ai/tmp/a")).expect("a link");
    workspace.write(LAYOUT, &json!({"workRoot": ".ai/tmp/a/b"}).to_string());
    fire(&workspace, RuleTrust::Everything);
    assert_eq!(std::fs::read_dir(outside.path()).expect("readable").count(), 0);
}
