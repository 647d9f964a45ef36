//! Runs that people can live with: together, anew, one after another, in sight, over HTTP, in git's way when asked.

use crate::react_workspace::{FILE, Workspace, is_over, sh};
use crate::run_workspace::wait_until;
use dispatch_support::{Reply, ScriptedModel, Served};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader};

const SAVED: &str = "onDidSaveTextDocument";

#[test]
fn a_branch_switch_of_sixty_files_is_one_run() {
    let workspace = Workspace::new(&json!([{"id": "all", "trigger": SAVED, "pattern": "src/*.txt", "batch": true,
        "debounceMs": 3000, "command": sh("cat > event.json")}]));
    for number in 0..60 {
        workspace.save(&format!("src/{number}.txt"), "main");
    }
    workspace.make_repository();
    let git = |arguments: &[&str]| assert!(workspace.git(arguments).status.success(), "{arguments:?}");
    git(&["switch", "-qc", "side"]);
    for number in 0..60 {
        workspace.save(&format!("src/{number}.txt"), "side");
    }
    git(&["commit", "-qam", "side"]);
    git(&["switch", "-q", "main"]);
    let watch = workspace.watch();
    git(&["switch", "-q", "side"]);
    watch.wait_for_ended(1);
    let event: Value = serde_json::from_str(&workspace.read("event.json")).unwrap();
    assert_eq!(event["files"].as_array().map(Vec::len), Some(60), "{event}");
    watch.stop();
    assert_eq!(workspace.runs().len(), 1);
}

#[test]
fn a_change_restarts_a_run_that_goes() {
    let script = "content=$(cat a.txt); touch begun; [ \"$content\" = last ] || sleep 600";
    let workspace = Workspace::new(&json!([{"id": "h", "trigger": SAVED, "pattern": "a.txt", "restart": true,
        "debounceMs": 0, "timeoutMs": 900_000, "command": sh(script)}]));
    let watch = workspace.watch();
    workspace.save("a.txt", "first");
    workspace.wait_for_file("begun");
    workspace.save("a.txt", "last");
    let runs = watch.wait_for_ended(2);
    let ended: Vec<(&str, &str)> =
        runs.iter().map(|run| (run["status"].as_str().unwrap(), run["reason"].as_str().unwrap_or_default())).collect();
    assert!(ended.contains(&("canceled", "its files changed; a new run handles them")), "{ended:?}");
    assert!(ended.contains(&("success", "")), "{ended:?}");
    watch.stop();
}

#[test]
fn a_chain_of_hooks_runs_once_for_each_link_and_ends() {
    let hook = |id: &str, from: &str, to: &str, chain: bool| {
        json!({"id": id, "trigger": SAVED, "pattern": format!("*.{from}"), "chain": chain, "debounceMs": 0,
            "command": sh(&format!("echo by-{id} >> made.{to}"))})
    };
    let workspace = Workspace::new(&json!([
        hook("one", "a", "b", false),
        hook("two", "b", "c", true),
        hook("unchained", "b", "d", false),
        // Each of these two starts the other, without an end of their own.
        hook("ping", "c", "e", true),
        hook("pong", "e", "c", true),
    ]))
    .with_marker_hook();
    let watch = workspace.watch();
    workspace.save("start.a", "go");
    wait_until("the chain has reached its limit", || {
        let runs = workspace.runs();
        runs.len() >= 8 && runs.iter().all(is_over)
    });
    watch.wait_until_handled(&workspace);
    watch.stop();
    let count = |id: &str| workspace.runs().iter().filter(|run| run["hookId"] == id).count();
    assert_eq!((count("one"), count("two"), count("unchained")), (1, 1, 0));
    assert!(count("ping") + count("pong") <= 8, "the limit of a chain holds");
}

#[test]
fn what_a_run_prints_is_shown_while_it_goes() {
    let workspace = Workspace::new(&json!([{"id": "h", "trigger": "manual",
        "command": sh("echo first line; until [ -e release ]; do sleep 0.02; done; echo last line")}]));
    let started = workspace.context.dispatch(&["runs", "start", "h", "--json"]).json();
    let id = started["id"].as_str().unwrap();
    let mut command = workspace.context.command("dispatch");
    let mut follow =
        command.args(["runs", "show", id, "--follow"]).stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut out = BufReader::new(follow.stdout.take().unwrap());
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    assert_eq!(line, "first line\n");
    assert_eq!(workspace.show(id)["logs"], "first line\n");
    assert_eq!(workspace.show(id)["status"], "running");
    workspace.save("release", "");
    line.clear();
    out.read_line(&mut line).unwrap();
    assert_eq!(line, "last line\n");
    assert!(follow.wait().unwrap().success());
    assert_eq!(workspace.show(id)["logs"], "first line\nlast line\n");
}

#[test]
fn the_watchers_own_output_in_the_workspace_starts_nothing() {
    let workspace = Workspace::new(&json!([{"id": "every", "trigger": SAVED, "command": ["true"], "debounceMs": 0}]));
    let out = std::fs::File::create(workspace.context.project().join("w.out")).unwrap();
    let err = std::fs::File::create(workspace.context.project().join("w.err")).unwrap();
    let mut command = workspace.context.command("dispatch");
    let mut watch = command.args(["watch"]).stdout(out).stderr(err).spawn().unwrap();
    wait_until("it watches", || workspace.read("w.out").contains("watching"));
    for name in ["a", "b", "c"] {
        workspace.save(name, name);
        wait_until("it is told", || workspace.read("w.out").contains(&format!("  {name}  ")));
    }
    watch.kill().unwrap();
    watch.wait().unwrap();
    let files: Vec<Value> = workspace.runs().iter().map(|run| run["files"][0]["path"].clone()).collect();
    assert_eq!(files, ["a", "b", "c"]);
}

#[test]
fn a_blocking_hook_keeps_git_from_going_on_and_another_does_not() {
    let check = "if grep -q bad notes.txt; then echo 'notes.txt is bad'; exit 1; fi";
    let git_hook = |id: &str, trigger: &str, blocking: bool, script: &str| {
        json!({"id": id, "trigger": trigger, "allowGit": true, "repoRoot": ".", "blocking": blocking,
            "command": sh(script)})
    };
    let workspace = Workspace::new(&json!([
        git_hook("check", "git:pre-commit", true, check),
        git_hook("failing", "git:pre-commit", false, "exit 1"),
        git_hook("push", "git:pre-push", true, "echo never; exit 1"),
    ]));
    workspace.save("notes.txt", "good");
    workspace.make_repository();
    assert_eq!(workspace.context.dispatch(&["init", "--git"]).status, 0);
    workspace.save("notes.txt", "good again");
    let good = workspace.git(&["commit", "-qam", "good"]);
    assert!(good.status.success(), "{good:?}");
    workspace.save("notes.txt", "bad");
    let bad = workspace.git(&["commit", "-qam", "bad"]);
    let said = String::from_utf8_lossy(&bad.stderr).into_owned();
    assert!(
        !bad.status.success() && said.contains("hook `check` refuses") && said.contains("notes.txt is bad"),
        "{said}"
    );
    let remote = tempfile::tempdir().unwrap();
    assert!(workspace.git(&["init", "-q", "--bare", remote.path().to_str().unwrap()]).status.success());
    let pushed = workspace.git(&["push", "-q", remote.path().to_str().unwrap(), "main"]);
    assert!(!pushed.status.success(), "{pushed:?}");
}

#[test]
fn a_prompt_whose_calls_were_all_refused_is_refused_and_a_patch_may_write() {
    let hook = |id: &str, extra: Value| {
        let mut hook = json!({"id": id, "trigger": "manual", "session": "run",
            "prompt": "write_file {\"path\": \"made.txt\", \"content\": \"made\"}"});
        hook.as_object_mut().unwrap().extend(extra.as_object().cloned().unwrap());
        hook
    };
    let workspace = Workspace::new(&json!([
        hook("looks", json!({})),
        hook("writes", json!({"permissions": "write"})),
        hook("offers", json!({"place": "patch"})),
    ]));
    workspace.make_repository();
    let server = ScriptedModel::answering(|asked| match asked.body.contains("\"tool_call_id\"") {
        true => Reply::say("done"),
        false => Reply::call(&[("c1", "write_file", json!({"path": "made.txt", "content": "made"}))]),
    });
    workspace.context.write_home(
        "config/dispatch.toml",
        format!("[model]\nbase_url = \"{}\"\nmodel = \"scripted\"\n", server.base_url()),
    );
    let start = |hook: &str| workspace.start(hook, &[]);
    let looks = start("looks");
    assert_eq!((looks.status, &looks.json()["status"]), (1, &"refused".into()), "{looks:?}");
    assert!(looks.json()["reason"].as_str().unwrap().contains("every tool call was refused: write_file"), "{looks:?}");
    assert!(!workspace.context.project().join("made.txt").exists());
    let offers = start("offers");
    assert_eq!((&offers.json()["status"], &offers.json()["patch"]), (&"success".into(), &true.into()), "{offers:?}");
    assert!(!workspace.context.project().join("made.txt").exists());
    let writes = start("writes");
    assert_eq!(writes.json()["status"], "success", "{writes:?}");
    assert_eq!(workspace.read("made.txt"), "made");
}

#[test]
fn something_says_that_hooks_wait_for_approval() {
    let workspace = Workspace { context: dispatch_support::TestContext::new() };
    workspace.save(FILE, &json!({"hooks": [{"id": "h", "trigger": SAVED, "command": ["true"]}]}).to_string());
    let doctor = workspace.context.dispatch(&["doctor"]);
    assert!(doctor.stdout.contains("waiting for approval: h"), "{doctor:?}");
    let listed = workspace.context.dispatch(&["workspace-hooks", "list"]);
    assert!(listed.stderr.contains("1 hook waits for your approval"), "{listed:?}");
    let watch = workspace.watch();
    watch.wait_for_words("hook `h` does not run: it is not approved");
    watch.stop();
}

#[test]
fn runs_are_listed_with_a_header_counted_and_switched_off() {
    let workspace = Workspace::new(&json!([{"id": "h", "trigger": "manual", "command": ["true"]}]));
    assert_eq!(workspace.start("h", &[]).status, 0);
    let listed = workspace.context.dispatch(&["runs", "list", "--status", "success", "--hook", "h"]).stdout;
    assert!(listed.starts_with("RUN") && listed.contains("STATUS"), "{listed}");
    let metrics = workspace.context.dispatch(&["runs", "metrics", "--json"]).json();
    assert_eq!((&metrics["succeeded"], &metrics["queueLength"]), (&1.into(), &0.into()), "{metrics}");
    assert_eq!(workspace.context.dispatch(&["workspace-hooks", "disable", "h"]).status, 0);
    assert_eq!(workspace.start("h", &[]).status, 2);
    assert_eq!(workspace.context.dispatch(&["workspace-hooks", "enable", "h"]).status, 0);
    assert_eq!(workspace.start("h", &[]).status, 0);
    assert_eq!(workspace.context.dispatch(&["workspace-hooks", "disable", "x"]).status, 2);
}

/// One request to the server; the status and the body.
fn http(served: &Served, method: &str, path: &str) -> (u16, String) {
    let answer = served.client.ask(method, path, &[], "").unwrap();
    (answer.status, answer.body)
}

#[test]
fn hooks_runs_and_output_are_served_over_http() {
    let workspace = Workspace::new(&json!([{"id": "h", "trigger": "manual", "command": ["echo", "said over http"]}]));
    let run = workspace.start("h", &[]).json();
    let id = run["id"].as_str().unwrap();
    let serve = Served::start(&workspace.context, &[], &[]);
    let (status, hooks) = http(&serve, "GET", "/v1/workspace-hooks");
    assert!(status == 200 && hooks.contains("\"inForce\":true"), "{hooks}");
    let (status, runs) = http(&serve, "GET", "/v1/runs?status=success");
    assert!(status == 200 && runs.contains(id), "{runs}");
    assert_eq!(http(&serve, "GET", "/v1/runs?status=nonsense").0, 400);
    let (status, one) = http(&serve, "GET", &format!("/v1/runs/{id}"));
    assert!(status == 200 && one.contains("said over http"), "{one}");
    assert_eq!(http(&serve, "GET", "/v1/runs/nonsense").0, 404);
    let (status, output) = http(&serve, "GET", &format!("/v1/runs/{id}/output"));
    assert!(status == 200 && output.contains("event: output") && output.contains("event: end"), "{output}");
    let (status, again) = http(&serve, "POST", &format!("/v1/runs/{id}/retry"));
    assert!(status == 200 && again.contains("\"run\""), "{again}");
    workspace.wait_for_runs(2);
    assert_eq!(http(&serve, "POST", &format!("/v1/runs/{id}/cancel")).0, 409, "it is over");
    let (status, metrics) = http(&serve, "GET", "/v1/workspace-hooks/metrics");
    assert!(status == 200 && metrics.contains("activeExecutions"), "{metrics}");
}
