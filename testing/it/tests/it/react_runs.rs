//! `dispatch runs` from end to end: started, looked at, found, stopped, repeated, applied, told to an agent.

use crate::agent::Agent;
use crate::react_workspace::{FILE, Workspace, is_over, sh};
use crate::run_workspace::wait_until;
use dispatch_support::{Reply, ScriptedModel, TestContext};
use serde_json::{Value, json};
use std::process::Stdio;

#[test]
fn a_run_is_started_shown_found_and_listed() {
    let workspace = Workspace::new(&json!([
        {"id": "good", "trigger": "manual", "command": sh("cat; echo needle in a haystack")},
        {"id": "fails-always", "trigger": "manual", "command": sh("exit 4")},
    ]));
    workspace.save("src/a.rs", "fn a() {}");
    let started = workspace.start("good", &["--file", "src/a.rs"]);
    assert_eq!(started.status, 0, "{started:?}");
    let run = started.json();
    assert_eq!((&run["status"], &run["trigger"]), (&"success".into(), &"manual".into()));
    assert_eq!(run["files"][0]["path"], "src/a.rs");
    assert_eq!(workspace.start("fails-always", &[]).status, 1);
    assert_eq!(workspace.start("nobody", &[]).status, 2);
    assert_eq!(workspace.start("good", &["--file", "/etc/passwd"]).status, 2);

    let id = run["id"].as_str().unwrap();
    let shown = workspace.context.dispatch(&["runs", "show", id]);
    assert!(shown.stdout.contains("needle in a haystack"), "{shown:?}");
    let found = |text: &str| {
        let found = workspace.context.dispatch(&["runs", "search", text, "--json"]).json();
        found.as_array().unwrap().iter().map(|run| run["hookId"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(found("needle in"), ["good"]);
    assert_eq!(found("src/a.rs"), ["good"]);
    assert_eq!(found("exit code 4"), ["fails-always"]);
    assert_eq!(found("Fails-Always"), ["fails-always"]);
    assert_eq!(found("100%_"), Vec::<String>::new());
    let failed = workspace.context.dispatch(&["runs", "list", "--status", "failed", "--json"]).json();
    assert_eq!(failed.as_array().map(Vec::len), Some(1));
    assert_eq!(failed[0]["hookId"], "fails-always");
    assert_eq!(workspace.context.dispatch(&["runs", "show", "no-such-run"]).status, 2);
}

#[test]
fn a_run_that_goes_is_followed_and_stopped() {
    let workspace = Workspace::new(&json!([
        {"id": "slow", "trigger": "manual", "command": sh("touch begun; sleep 600")},
    ]));
    let started = workspace.context.dispatch(&["runs", "start", "slow", "--json"]);
    assert_eq!(started.status, 0, "{started:?}");
    let run = started.json();
    let id = run["id"].as_str().unwrap();
    workspace.wait_for_file("begun");
    let mut command = workspace.context.command("dispatch");
    let follower = command.args(["runs", "follow", id, "--json"]).stdout(Stdio::piped()).spawn().expect("it starts");
    let canceled = workspace.context.dispatch(&["runs", "cancel", id, "--json"]);
    assert_eq!(canceled.status, 0, "{canceled:?}");
    let output = follower.wait_with_output().expect("it ends");
    let told = String::from_utf8(output.stdout).unwrap();
    let last: Value = serde_json::from_str(told.lines().last().unwrap()).unwrap();
    assert_eq!((output.status.code(), &last["status"]), (Some(1), &"canceled".into()), "{told}");
    assert_eq!(workspace.show(id)["status"], "canceled");
    let again = workspace.context.dispatch(&["runs", "cancel", id]);
    assert!(again.status == 1 && again.stdout.contains("was already over"), "{again:?}");
}

#[test]
fn a_change_is_offered_as_a_patch_and_applied_when_asked() {
    let workspace = Workspace { context: TestContext::new() };
    workspace.save("a.txt", "one\n");
    workspace.save(".gitignore", ".akira\n");
    workspace.make_repository();
    workspace.save("a.txt", "one\nnot committed\n");
    let script = "sed -i s/one/two/ a.txt; echo new > b.txt; pwd";
    workspace.set(&json!([
        {"id": "fix", "trigger": "manual", "place": "patch", "command": sh(script)},
        {"id": "idle", "trigger": "manual", "place": "patch", "command": ["true"]},
    ]));
    let run = workspace.start("fix", &[]).json();
    assert_eq!((&run["status"], &run["patch"]), (&"success".into(), &true.into()), "{run}");
    assert_ne!(run["logs"].as_str().unwrap().trim(), workspace.context.project().to_str().unwrap());
    assert_eq!(workspace.read("a.txt"), "one\nnot committed\n", "the person's tree is as it was");
    assert_eq!(workspace.read("b.txt"), "");
    assert_eq!(String::from_utf8_lossy(&workspace.git(&["worktree", "list"]).stdout).lines().count(), 1);

    let id = run["id"].as_str().unwrap();
    let checked = workspace.context.dispatch(&["runs", "apply", id, "--check"]);
    assert_eq!((checked.status, workspace.read("b.txt").as_str()), (0, ""), "{checked:?}");
    let applied = workspace.context.dispatch(&["runs", "apply", id]);
    assert_eq!(applied.status, 0, "{applied:?}");
    assert_eq!((workspace.read("a.txt").as_str(), workspace.read("b.txt").as_str()), ("two\nnot committed\n", "new\n"));

    let idle = workspace.start("idle", &[]).json();
    assert_eq!((&idle["status"], &idle["patch"]), (&"success".into(), &false.into()));
    assert_eq!(workspace.context.dispatch(&["runs", "apply", idle["id"].as_str().unwrap()]).status, 2);
}

#[test]
fn the_next_turn_of_an_agent_is_told_of_a_run_exactly_once() {
    let workspace = Workspace::new(&json!([
        {"id": "tests", "trigger": "manual", "command": sh("echo 2 tests fail; exit 1"), "tellAgent": true},
        {"id": "quiet", "trigger": "manual", "command": sh("echo nobody wants to know")},
    ]));
    assert_eq!(workspace.context.dispatch(&["init", "--host", "claude-code", "--full"]).status, 0);
    let agent = Agent::new(&workspace.context, "abc");
    for hook in ["tests", "quiet"] {
        assert!(is_over(&workspace.start(hook, &[]).json()));
    }
    let told = agent.fire("UserPromptSubmit", &json!({"prompt": "go on"})).stdout;
    assert!(told.contains("2 tests fail") && !told.contains("nobody wants"), "{told}");
    let again = agent.fire("UserPromptSubmit", &json!({"prompt": "go on"})).stdout;
    assert!(!again.contains("2 tests fail"), "{again}");
    let other = Agent::new(&workspace.context, "def").fire("UserPromptSubmit", &json!({"prompt": "hello"})).stdout;
    assert!(!other.contains("2 tests fail"), "{other}");
}

#[test]
fn our_own_agent_answers_a_prompt() {
    let model = ScriptedModel::answering(|request| {
        let messages = request.json()["messages"].as_array().cloned().unwrap_or_default();
        match messages.last().and_then(|message| message["role"].as_str()) {
            Some("tool") => Reply::say("It says hello."),
            _ => Reply::call(&[("r", "read_file", json!({"path": "notes.txt"}))]),
        }
    });
    let workspace = Workspace { context: TestContext::new() };
    workspace.save("notes.txt", "hello\n");
    workspace.set(&json!([{"id": "ask", "trigger": "manual", "prompt": "What does {file} say?"}]));
    let base_url = model.base_url();
    let variables = [("DISPATCH_BASE_URL", base_url.as_str()), ("DISPATCH_MODEL", "scripted")];
    let start = ["runs", "start", "ask", "--file", "notes.txt", "--wait", "--json"];
    let output = workspace.context.run("dispatch", &start, b"", &variables);
    let run = output.json();
    assert_eq!((output.status, &run["status"]), (0, &"success".into()), "{output:?}");
    assert!(run["logs"].as_str().is_some_and(|logs| logs.contains("It says hello.")), "{run}");
    assert!(run["session"].is_string(), "{run}");
    let asked = model.requests().iter().map(|request| request.json().to_string()).collect::<String>();
    assert!(asked.contains("What does notes.txt say?"), "{asked}");
    assert_eq!(model.problems(), Vec::<String>::new());
    // The next run of the hook goes on with the same conversation.
    let second = workspace.context.run("dispatch", &start, b"", &variables).json();
    assert_eq!(second["session"], run["session"]);
}

#[test]
fn runs_of_a_file_that_is_gone_can_still_be_read() {
    let workspace = Workspace::new(&json!([{"id": "h", "trigger": "manual", "command": ["true"]}]));
    let run = workspace.start("h", &[]).json();
    std::fs::remove_file(workspace.context.project().join(FILE)).unwrap();
    assert_eq!(workspace.runs().len(), 1);
    let id = run["id"].as_str().unwrap();
    assert_eq!(workspace.show(id)["hookId"], "h");
    let refused = workspace.context.dispatch(&["runs", "retry", id, "--wait"]);
    assert_eq!(refused.status, 2, "{refused:?}");
    wait_until("nothing waits", || workspace.runs().iter().all(is_over));
}
