//! Nodes with data folders of their own on one PostgreSQL: what one of them made is there for the others.

use crate::react_workspace::Workspace;
use dispatch_support::{PgBouncer, PostgresServer, Recorded, Reply, ScriptedModel, Served, TestContext, slow_lane};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Stdio;

/// Starts a server with a context's home in a folder of any context.
fn node(context: &TestContext, folder: &Path, settings: &[String], base_url: &str) -> Served {
    let mut command = context.command("dispatch");
    command.current_dir(folder).args(["serve", "--listen", "127.0.0.1:0"]);
    for setting in settings {
        command.args(["--set", setting]);
    }
    command.envs([("DISPATCH_BASE_URL", base_url), ("DISPATCH_MODEL", "scripted")]);
    let log = std::fs::File::options().create(true).append(true).open(context.home().join("serve.log")).unwrap();
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log);
    let started = Served::over(command.spawn().unwrap(), &context.home());
    started.unwrap_or_else(|_| panic!("{}", std::fs::read_to_string(context.home().join("serve.log")).unwrap()))
}

/// The path that a request says the full output is in.
fn told_path(body: &str) -> String {
    let behind = body.split("the full output is in ").nth(1).expect("a path");
    behind.split(" ...]").next().unwrap_or_default().to_owned()
}

/// Makes a large output, and reads it when it is asked to.
fn spilling(request: &Recorded) -> Reply {
    let messages = request.json()["messages"].as_array().cloned().unwrap_or_default();
    let last = messages.last().cloned().unwrap_or_default();
    match last["content"].as_str() {
        Some(text) if last["role"] == "user" && text.contains("count") => {
            Reply::call(&[("count", "run_shell", json!({ "command": "seq 1 60000" }))])
        }
        Some(text) if last["role"] == "user" && text.contains("read") => {
            let path = told_path(&request.body);
            let lines = json!({ "path": path, "start_line": 44_000, "end_line": 44_001 });
            Reply::call(&[("read", "read_file", lines)])
        }
        _ => Reply::say("I see."),
    }
}

#[test]
fn a_large_output_is_there_on_another_node() {
    let server = PostgresServer::start();
    let model = ScriptedModel::answering(spilling);
    let (one, other) = (TestContext::new(), TestContext::new());
    let settings = [format!("storage.url={}", server.url()), "limits.output_bytes=4000".to_owned()];
    let folder = one.project();
    let say = |served: &Served, text: &str| {
        let dispatch = served.client.submit("main", &json!({ "text": text, "ask": "all" }));
        assert_eq!(served.client.ended(&dispatch)["state"], "done");
    };
    let mut first = node(&one, &folder, &settings, &model.base_url());
    say(&first, "count");
    let told = told_path(&model.requests().last().unwrap().body);
    assert!(told.starts_with(one.home().to_str().unwrap()), "{told}");
    first.kill();
    let second = node(&other, &folder, &settings, &model.base_url());
    say(&second, "read");
    let last = model.requests().last().unwrap().clone();
    let here = told_path(&last.body);
    assert!(here.starts_with(other.home().to_str().unwrap()), "the path is one of this node: {here}");
    assert_eq!(std::fs::read(&here).unwrap(), std::fs::read(&told).unwrap());
    let read = results(&last.json(), "read");
    assert!(read.contains("44001") && !read.contains("44002"), "{read}");

    let home = format!("sqlite:{}", other.home().join("copy.db").display());
    let copied = other.dispatch(&["storage", "copy", &server.url(), &home, "--json"]).json();
    let outputs = copied["tables"].as_array().unwrap().iter().find(|table| table["table"] == "agent_outputs");
    assert!(outputs.unwrap()["rows"].as_u64() > Some(1), "{copied}");
    let removed = other.dispatch(&["--set", &settings[0], "session", "delete", "main"]);
    assert_eq!(removed.status, 0, "{removed:?}");
    assert_eq!(server.psql("SELECT count(*) FROM agent_outputs"), "0", "it goes with its session");
}

/// What the call with this id gave, as a request tells it.
fn results(request: &Value, call: &str) -> String {
    let messages = request["messages"].as_array().cloned().unwrap_or_default();
    let found = messages.iter().find(|message| message["tool_call_id"].as_str().is_some_and(|id| id.contains(call)));
    found.and_then(|message| message["content"].as_str()).unwrap_or_default().to_owned()
}

/// A node takes in messages that only the other can run; gives how long they waited at the median, in milliseconds.
fn take_in_for_another(server: &PostgresServer, url: &str, rounds: u32) -> u64 {
    let model = ScriptedModel::answering(|_| Reply::say("I see."));
    let (one, other) = (TestContext::new(), TestContext::new());
    let settings = [format!("storage.url={url}")];
    let taking = node(&one, &one.project(), &settings, &model.base_url());
    let working = node(&other, &other.project(), &settings, &model.base_url());
    for number in 0..rounds {
        let message = json!({ "text": "hello", "workdir": other.project(), "ask": "all" });
        let dispatch = taking.client.submit(&format!("s{number}"), &message);
        assert_eq!(working.client.ended(&dispatch)["state"], "done", "only the other node can run it");
    }
    let waited = "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY t.started_at - d.at)::bigint
        FROM dispatches d JOIN turn_inputs i ON i.dispatch_id = d.id JOIN agent_turns t ON t.id = i.turn_id";
    server.psql(waited).parse().expect("a number")
}

#[test]
fn a_node_takes_up_what_another_took_in() {
    let server = PostgresServer::start();
    let waited = take_in_for_another(&server, &server.url(), if slow_lane() { 40 } else { 3 });
    // Looking once a second alone takes half a second at the median.
    assert!(!slow_lane() || waited < 250, "a message waited {waited} ms at the median");
}

#[test]
fn behind_a_pooler_looking_is_enough() {
    let server = PostgresServer::start();
    let pooler = PgBouncer::start(&server);
    let _waited = take_in_for_another(&server, &pooler.url("postgres"), 3);
    let listening = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%LISTEN%' AND pid <> pg_backend_pid()";
    assert_eq!(server.psql(listening), "0", "nobody listens through a pooler");
}

#[test]
fn hooks_of_two_workspaces_run_side_by_side_and_are_counted_in_order() {
    const RUNS: usize = 4;
    let server = PostgresServer::start();
    let setting = format!("storage.url={}", server.url());
    let hooks =
        json!([{ "id": "say", "trigger": "onDidSaveTextDocument", "pattern": "*.x", "command": ["echo", "hi"] }]);
    let workspaces = [Workspace::new(&hooks), Workspace::new(&hooks)];
    let start = |workspace: &Workspace| {
        let mut command = workspace.context.command("dispatch");
        command.args(["--set", &setting, "runs", "start", "say", "--wait"]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let started: Vec<_> = (0..RUNS).flat_map(|_| workspaces.each_ref().map(start)).collect();
    for run in started {
        let output = run.wait_with_output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }
    let count = |sql: &str| server.psql(sql).parse::<usize>().unwrap();
    let runs = count("SELECT count(*) FROM hook_runs");
    assert!(runs >= 2, "a start may join a run that waits");
    assert_eq!(count("SELECT count(*) FROM hook_runs WHERE status = 'success'"), runs);
    assert_eq!(count("SELECT count(DISTINCT version) FROM hook_runs"), runs, "no two changes share a count");
    assert_eq!(count("SELECT count(*) FROM hook_runs, hook_changes c WHERE hook_runs.version > c.version"), 0);
}
