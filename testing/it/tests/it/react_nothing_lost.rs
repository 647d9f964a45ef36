//! No commit, no event and no run is lost: not in a hurry, not during an invalid edit, not when an editor closes.

use crate::react_lsp::LspProcess;
use crate::react_workspace::{FILE, Workspace, is_over, sh};
use crate::run_workspace::wait_until;
use dispatch_support::slow_lane;
use serde_json::{Value, json};
use std::collections::BTreeSet;

fn on_commit(command: &Value) -> Value {
    json!([{"id": "review", "trigger": "gitCommit", "allowGit": true, "repoRoot": ".", "command": command,
        "timeoutMs": 120_000}])
}

/// A repository whose commits start a hook.
fn repository() -> Workspace {
    let workspace = Workspace::new(&on_commit(&json!(["true"])));
    workspace.make_repository();
    let installed = workspace.context.dispatch(&["init", "--git"]);
    assert_eq!(installed.status, 0, "{installed:?}");
    workspace
}

fn git(workspace: &Workspace, arguments: &[&str]) -> String {
    let output = workspace.git(arguments);
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The commits that runs were started for.
fn commits_run(workspace: &Workspace) -> BTreeSet<String> {
    let listed = workspace.context.dispatch(&["runs", "list", "--json", "--limit", "1000"]).json();
    let runs = listed.as_array().cloned().unwrap_or_default();
    runs.iter().filter_map(|run| Some(run["metadata"]["commit"].as_str()?.to_owned())).collect()
}

fn every_commit_gets_its_run(workspace: &Workspace, since: &str) {
    let made: BTreeSet<String> =
        git(workspace, &["rev-list", &format!("{since}..HEAD")]).lines().map(str::to_owned).collect();
    wait_until("each commit has a run", || made.is_subset(&commits_run(workspace)));
    wait_until("each run is over", || workspace.runs().iter().all(is_over));
}

#[test]
fn each_of_many_commits_in_a_row_gets_its_run() {
    let count = if slow_lane() { 200 } else { 20 };
    let workspace = repository();
    let first = git(&workspace, &["rev-parse", "HEAD"]);
    let line = format!(
        "i=0; while [ $i -lt {count} ]; do i=$((i+1)); git -c user.name=t -c user.email=t commit -q --allow-empty -m $i; done"
    );
    let done = workspace.context.shell(&line).status().unwrap();
    assert!(done.success());
    every_commit_gets_its_run(&workspace, first.trim());
    assert_eq!(workspace.runs().len(), count);
}

#[test]
fn each_cherry_picked_commit_gets_its_run() {
    let workspace = repository();
    let first = git(&workspace, &["rev-parse", "HEAD"]);
    git(&workspace, &["switch", "-qc", "side"]);
    for name in ["a", "b", "c", "d", "e", "f"] {
        workspace.save(name, name);
        git(&workspace, &["add", name]);
        git(&workspace, &["commit", "-qm", name]);
    }
    every_commit_gets_its_run(&workspace, first.trim());
    git(&workspace, &["switch", "-q", "main"]);
    git(&workspace, &["commit", "-q", "--allow-empty", "-m", "other"]);
    git(&workspace, &["cherry-pick", "side~6..side"]);
    every_commit_gets_its_run(&workspace, first.trim());
    assert_eq!(workspace.runs().len(), 13, "six, one, and the six again");
}

#[test]
fn a_commit_during_an_invalid_edit_starts_the_last_valid_hooks() {
    let workspace = repository();
    workspace.save(FILE, "{ \"hooks\": [");
    git(&workspace, &["commit", "-q", "--allow-empty", "-m", "meanwhile"]);
    let head = git(&workspace, &["rev-parse", "HEAD"]);
    wait_until("it has a run", || commits_run(&workspace).contains(head.trim()));
    workspace.wait_for_runs(1);
    let listed = workspace.context.dispatch(&["workspace-hooks", "list"]);
    assert!(listed.stdout.contains("review") && !listed.stdout.contains("no hooks"), "{listed:?}");
    let started = workspace.start("review", &[]);
    assert_eq!(started.status, 0, "{started:?}");
}

#[test]
fn runs_of_an_editor_that_closes_are_left_to_a_worker() {
    let workspace = Workspace::new(&json!([{"id": "late", "trigger": "onDidSaveTextDocument", "pattern": "*.txt",
        "debounceMs": 2000, "command": sh("cat \"$DISPATCH_FILE\" > saw")}]));
    workspace.save("a.txt", "written by :wq");
    let mut editor = LspProcess::open(&workspace);
    let saved = json!({"textDocument": {"uri": editor.uri("a.txt")}});
    editor.say(json!({"jsonrpc": "2.0", "method": "textDocument/didSave", "params": saved}));
    editor.say(json!({"jsonrpc": "2.0", "id": 2, "method": "shutdown"}));
    editor.say(json!({"jsonrpc": "2.0", "method": "exit"}));
    let left = editor.process.wait().unwrap();
    assert!(left.success(), "{left:?}");
    // Nobody starts anything from here on.
    assert_eq!(workspace.wait_for_runs(1)[0]["status"], "success");
    assert_eq!(workspace.read("saw"), "written by :wq");
}

#[test]
fn a_run_goes_on_although_the_editor_kills_its_server_once_it_may_leave() {
    let workspace = Workspace::new(&json!([{"id": "slow", "trigger": "onDidSaveTextDocument", "pattern": "*.txt",
        "debounceMs": 0, "command": sh("echo x >> began; until [ -e release ]; do sleep 0.05; done; cat \"$DISPATCH_FILE\" > saw")}]));
    workspace.save("a.txt", "written before the kill");
    let mut editor = LspProcess::open(&workspace);
    editor.say(json!({"jsonrpc": "2.0", "method": "textDocument/didSave",
        "params": {"textDocument": {"uri": editor.uri("a.txt")}}}));
    workspace.wait_for_file("began");
    editor.say(json!({"jsonrpc": "2.0", "id": 2, "method": "shutdown"}));
    wait_until("it may leave", || editor.output.so_far().contains("\"id\":2"));
    editor.process.kill().unwrap();
    editor.process.wait().unwrap();
    workspace.save("release", "");
    assert_eq!(workspace.wait_for_runs(1)[0]["status"], "success");
    assert_eq!(workspace.read("saw"), "written before the kill");
}

#[test]
fn a_workspace_is_watched_without_a_terminal_until_it_is_stopped() {
    let workspace = Workspace::new(
        &json!([{"id": "h", "trigger": "onDidSaveTextDocument", "pattern": "*.txt", "command": ["true"], "debounceMs": 0}]),
    );
    let watch = |option: &str| workspace.context.dispatch(&["watch", option]);
    let started = watch("--background");
    assert!(started.status == 0 && started.stdout.contains("in the background"), "{started:?}");
    let again = watch("--background");
    assert!(again.status == 0 && again.stdout.contains("is already watched by process "), "{again:?}");
    let status = workspace.context.dispatch(&["service", "status", "--json"]);
    assert!(status.status == 0 && status.json()["watchedBy"].is_string(), "{status:?}");
    workspace.save("a.txt", "a");
    workspace.wait_for_runs(1);
    let stopped = watch("--stop");
    assert!(stopped.status == 0, "{stopped:?}");
    assert_eq!(watch("--stop").status, 1);
    assert_eq!(workspace.context.dispatch(&["service", "status"]).status, 1);
}

#[test]
fn a_service_unit_is_written_and_removed_for_systemd_and_launchd() {
    let workspace = Workspace::new(&json!([]));
    let home = workspace.context.home();
    let service = |arguments: &[&str]| {
        let mut command = workspace.context.command("dispatch");
        command.arg("service").args(arguments).env("HOME", &home).env_remove("XDG_CONFIG_HOME").output().unwrap()
    };
    let project = workspace.context.project();
    for (manager, folder) in [("systemd", ".config/systemd/user"), ("launchd", "Library/LaunchAgents")] {
        let installed = service(&["install", "--no-start", "--manager", manager]);
        assert!(installed.status.success(), "{installed:?}");
        let files: Vec<_> = std::fs::read_dir(home.join(folder)).unwrap().flatten().collect();
        assert_eq!(files.len(), 1, "{files:?}");
        let text = std::fs::read_to_string(files[0].path()).unwrap();
        assert!(text.contains(project.to_str().unwrap()) && text.contains("watch"), "{text}");
        if manager == "launchd" {
            let read = "import plistlib,sys; print(plistlib.load(open(sys.argv[1],'rb'))['ProgramArguments'][1:3])";
            let python =
                std::process::Command::new("python3").args(["-c", read]).arg(files[0].path()).output().unwrap();
            assert_eq!(String::from_utf8_lossy(&python.stdout), "['watch', '--project']\n", "{python:?}");
        }
        let removed = service(&["remove", "--manager", manager]);
        assert!(removed.status.success() && !files[0].path().exists(), "{removed:?}");
        assert_eq!(service(&["remove", "--manager", manager]).status.code(), Some(1));
    }
}
