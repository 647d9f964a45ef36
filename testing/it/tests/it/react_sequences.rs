//! How the parts of workspace hooks work together, one test for each of their sequences.

use crate::intents_host::is_fenced;
use crate::react_workspace::{FILE, Watch, Workspace, hooks_of, sh};
use crate::run_workspace::wait_until;
use dispatch_support::TestContext;
use serde_json::{Value, json};
use std::process::Command;

const SAVED: &str = "onDidSaveTextDocument";

#[test]
fn startup_with_a_valid_file_puts_its_hooks_on() {
    let workspace = Workspace::new(&json!([
        {"id": "saved", "trigger": SAVED, "pattern": "*.txt", "command": ["cat"]},
        {"id": "off", "trigger": SAVED, "enabled": false, "command": ["cat"]},
        {"id": "sent", "trigger": "custom:go", "command": ["cat"]},
    ]));
    let watch = workspace.watch();
    watch.wait_for_words("hook `off` does not run: it is switched off with `enabled: false`");
    assert_eq!((&watch.first()["hooks"], watch.err().lines().count()), (&2.into(), 1), "{}", watch.err());
    let hooks: Vec<Option<String>> = workspace.standing().into_iter().map(|(_, reason)| reason).collect();
    assert_eq!((&hooks[0], &hooks[2]), (&None, &None));
    workspace.save("a.txt", "text");
    assert_eq!(hooks_of(&watch.wait_for_ended(1)), ["saved"]);
    assert_eq!(workspace.context.dispatch(&["event", "send", "go"]).status, 0);
    assert_eq!(hooks_of(&watch.wait_for_ended(2)), ["saved", "sent"]);
    watch.stop();
}

#[test]
fn startup_with_an_invalid_file_says_where_and_runs_nothing() {
    let workspace = Workspace { context: TestContext::new() }.with_marker_hook();
    let wrong = format!("{{ \"hooks\": [\n  {{ \"id\": \"a\", \"trigger\": \"{SAVED}\", \"prompt\": 1 }}\n] }}");
    workspace.save(FILE, &wrong);
    let watch = workspace.watch();
    assert_eq!(watch.first()["hooks"], 1, "the user's own");
    watch.wait_for_words(".akira/hooks.json:2:");
    workspace.save("before.txt", "nobody hears of it");
    watch.wait_until_handled(&workspace);
    let right = json!([{"id": "a", "trigger": SAVED, "pattern": "*.txt", "command": ["cat"]}]);
    workspace.set(&right);
    watch.wait_for_words("the hooks have changed: 2 are on");
    workspace.save("after.txt", "text");
    let runs = watch.wait_for_ended(1);
    assert_eq!(runs[0]["files"][0]["path"], "after.txt");
    watch.stop();
    assert_eq!(workspace.runs().len(), 1);
}

#[test]
fn event_processing_of_a_file_save_that_succeeds() {
    let workspace = Workspace::new(&json!([
        {"id": "good", "trigger": SAVED, "pattern": "src/**", "command": ["cat"], "metadata": {"team": "blue"}},
        {"id": "other", "trigger": SAVED, "pattern": "*.md", "command": ["cat"]},
    ]));
    let watch = workspace.watch();
    workspace.save("src/a.rs", "fn a() {}");
    let run = watch.wait_for_ended(1).remove(0);
    watch.stop();
    assert_eq!((&run["status"], &run["exitCode"], &run["attempts"]), (&"success".into(), &0.into(), &1.into()));
    let event: Value = serde_json::from_str(run["logs"].as_str().unwrap()).unwrap();
    assert_eq!((&event["runId"], &event["hookId"], &event["trigger"]), (&run["id"], &"good".into(), &SAVED.into()));
    assert_eq!(event["filePath"], json!(workspace.context.project().join("src/a.rs")));
    assert_eq!(event["files"][0]["contentHash"], run["contentHash"]);
    assert_eq!(event["metadata"]["team"], "blue");
    let log = workspace.log_of(&run);
    let statuses: Vec<&str> = log.iter().filter_map(|line| line["status"].as_str()).collect();
    assert_eq!(statuses, ["queued", "running", "success"]);
    assert_eq!(workspace.runs().len(), 1, "the other hook is for other files");
}

#[test]
fn event_processing_of_a_file_save_that_fails_is_tried_again() {
    let retry = json!({"count": 2, "backoffMs": 20, "backoffFactor": 2});
    let script = "echo it is wrong >&2; exit 7";
    let workspace = Workspace::new(&json!([
        {"id": "bad", "trigger": SAVED, "pattern": "*.txt", "command": sh(script), "retry": retry},
    ]));
    let watch = workspace.watch();
    workspace.save("a.txt", "text");
    let run = watch.wait_for_ended(1).remove(0);
    watch.stop();
    assert_eq!((&run["status"], &run["exitCode"], &run["attempts"]), (&"failed".into(), &7.into(), &3.into()));
    assert_eq!(run["reason"], "exit code 7: it is wrong");
    let log = workspace.log_of(&run);
    let steps: Vec<(&str, u64)> =
        log.iter().map(|line| (line["status"].as_str().unwrap(), line["attempts"].as_u64().unwrap())).collect();
    let expected =
        [("queued", 0), ("running", 1), ("queued", 1), ("running", 2), ("queued", 2), ("running", 3), ("failed", 3)];
    assert_eq!(steps, expected);
}

#[test]
fn git_commit_starts_only_the_hooks_that_allow_it_and_does_not_wait() {
    let workspace = Workspace { context: TestContext::new() };
    std::fs::create_dir_all(workspace.context.home().join("elsewhere/.git")).unwrap();
    let commits = "git -c user.name=t -c user.email=t commit -q --allow-empty -m \"by a run\"";
    let waits = format!("until [ -e release ]; do sleep 0.05; done; cat; {commits}");
    workspace.save("src/a.txt", "one");
    workspace.save(".gitignore", ".akira\nrelease\n");
    workspace.make_repository();
    workspace.set(&json!([
        {"id": "mine", "trigger": "gitCommit", "allowGit": true, "repoRoot": ".", "command": sh(&waits)},
        {"id": "failing", "trigger": "git:pre-commit", "allowGit": true, "repoRoot": ".", "command": sh("exit 1")},
        {"id": "theirs", "trigger": "gitCommit", "allowGit": true,
         "repoRoot": workspace.context.home().join("elsewhere"), "command": ["cat"]},
        {"id": "saved", "trigger": SAVED, "command": ["cat"]},
    ]));
    let installed = workspace.context.dispatch(&["init", "--git"]);
    assert_eq!(installed.status, 0, "{installed:?}");
    workspace.save("src/a.txt", "two");
    let committed = workspace.git(&["commit", "-qam", "second"]);
    assert!(committed.status.success(), "{committed:?}");
    // The run cannot have ended: nobody has released it, and the commit is made.
    wait_until("both are stored", || workspace.runs().len() == 2);
    let waiting = workspace.runs().into_iter().find(|run| run["hookId"] == "mine").expect("it is stored");
    assert!(!crate::react_workspace::is_over(&waiting), "{waiting}");
    let head = || String::from_utf8(workspace.git(&["rev-parse", "HEAD"]).stdout).unwrap();
    let committed = head();
    workspace.save("release", "");
    let runs = workspace.wait_for_runs(2);
    assert_eq!(hooks_of(&runs), ["failing", "mine"]);
    let mine = workspace.show(waiting["id"].as_str().unwrap());
    assert_eq!(mine["status"], "success", "{mine}");
    let event: Value = serde_json::from_str(mine["logs"].as_str().unwrap()).unwrap();
    assert!(event["metadata"].to_string().contains(committed.trim()), "{event}");
    assert_eq!(event["files"][0]["path"], "src/a.txt");
    // The run has made a commit of its own, which started nothing; and what was installed can be taken away.
    assert_ne!(head(), committed);
    assert_eq!(workspace.context.dispatch(&["init", "--undo"]).status, 0);
    workspace.save("src/a.txt", "three");
    assert!(workspace.git(&["commit", "-qam", "third"]).status.success());
    assert_eq!(workspace.runs().len(), 2);
}

/// Runs a program in a place where the system gives nobody a watch.
fn without_watches(workspace: &Workspace) -> Command {
    let program = workspace.context.command("dispatch");
    let mut command = Command::new("unshare");
    let script = "echo 0 > /proc/sys/user/max_inotify_instances && exec \"$@\"";
    command.args(["--user", "--map-root-user", "sh", "-c", script, "sh"]).arg(program.get_program());
    command.current_dir(workspace.context.project()).env_clear();
    command.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command
}

#[test]
fn listener_registration_that_fails_switches_its_hooks_off_with_a_code() {
    assert!(is_fenced(), "`unshare --user` must work here: without it nobody can take the system's watches away");
    let workspace = Workspace::new(&json!([
        {"id": "saved", "trigger": SAVED, "command": ["cat"]},
        {"id": "sent", "trigger": "custom:go", "command": ["cat"]},
    ]));
    let watch = Watch::start(without_watches(&workspace).args(["watch", "--json"]));
    watch.wait_for_words("hook `saved` does not run: WATCH_REFUSED: ");
    assert_eq!(watch.first()["hooks"], 1, "{}", watch.out());
    assert!(watch.err().contains("max_user_instances"), "{}", watch.err());
    assert!(!watch.err().contains("`sent`"), "{}", watch.err());
    let standing = workspace.standing();
    assert!(standing[0].1.as_ref().is_some_and(|reason| reason.starts_with("WATCH_REFUSED: ")), "{standing:?}");
    assert_eq!(standing[1], ("sent".to_owned(), None));
    // What does not depend on the listener goes on.
    assert_eq!(workspace.context.dispatch(&["event", "send", "go"]).status, 0);
    assert_eq!(hooks_of(&watch.wait_for_ended(1)), ["sent"]);
    watch.stop();
    let again = workspace.watch();
    assert_eq!(again.first()["hooks"], 2);
    assert_eq!(workspace.standing()[0].1, None, "whoever watches now can");
}
