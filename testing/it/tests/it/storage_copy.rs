//! A whole installation moves to a database server and back: every table has the same content afterwards.

use crate::react_workspace::{Workspace, sh};
use crate::run_workspace::wait_until;
use dispatch_support::{PostgresServer, Recorded, Reply, ScriptedModel, Served};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// How many letters of messages fit the model.
const WINDOW: usize = 16_000;

/// Runs `[[COMMAND]]`, refuses what does not fit, else agrees; a summary is an agreement too.
fn answer(request: &Recorded) -> Reply {
    let messages = request.json()["messages"].clone();
    if messages.to_string().len() > WINDOW {
        let error = json!({ "message": "the input exceeds the context window", "code": "context_length_exceeded" });
        return Reply::json(400, &json!({ "error": error }));
    }
    let last = messages.as_array().and_then(|all| all.last().cloned()).unwrap_or_default();
    let text = last["content"].as_str().unwrap_or_default().to_owned();
    match text.split_once("[[").and_then(|(_, rest)| rest.split_once("]]")) {
        Some((command, _)) if last["role"] == "user" => {
            Reply::call(&[("c1", "run_shell", json!({ "command": command }))])
        }
        _ => Reply::say("I see."),
    }
}

/// The content of every table that is copied, by its name, as Python reads it from the file.
fn tables(database: &Path) -> BTreeMap<String, Value> {
    let program = "
import json, sqlite3, sys
base = sqlite3.connect(sys.argv[1])
names = [row[0] for row in base.execute('SELECT name FROM dispatch_tables ORDER BY name') if '_words' not in row[0]]
show = lambda value: value.hex() if isinstance(value, bytes) else value
tables = {name: sorted(json.dumps([show(value) for value in row]) for row in base.execute(f'SELECT * FROM \"{name}\"'))
          for name in names + ['dispatch_values']}
print(json.dumps(tables))";
    let read = Command::new("python3").args(["-c", program]).arg(database).output().expect("python3");
    assert!(read.status.success(), "{}", String::from_utf8_lossy(&read.stderr));
    serde_json::from_slice(&read.stdout).expect("JSON")
}

fn rows(tables: &BTreeMap<String, Value>, table: &str) -> usize {
    tables.get(table).and_then(Value::as_array).map_or(0, Vec::len)
}

/// Leaves something of every kind in the home.
fn live(workspace: &Workspace, model: &ScriptedModel) {
    let variables = [("DISPATCH_BASE_URL", &*model.base_url()), ("DISPATCH_MODEL", "scripted")];
    let served = Served::start(&workspace.context, &["--set", "limits.output_bytes=4000"], &variables);
    for text in ["hello \u{fc}ber all", "count [[seq 1 60000]]"] {
        let dispatch = served.client.submit("main", &json!({ "text": text, "ask": "all" }));
        assert_eq!(served.client.ended(&dispatch)["state"], "done");
    }
    let asking = served.client.submit("main", &json!({ "text": "do [[git tag one]]", "ask": "person" }));
    let open = || served.client.get("/v1/approvals").json();
    wait_until("a question is open", || open().as_array().is_some_and(|list| !list.is_empty()));
    let id = open()[0]["id"].as_str().unwrap_or_default().to_owned();
    let answered = workspace.context.dispatch(&["approvals", "answer", &id, "allow", "--remember"]);
    assert_eq!(answered.status, 0, "{answered:?}");
    assert_eq!(served.client.ended(&asking)["state"], "done");
    for number in 0..9 {
        let text = format!("Remember fact-{number}. {}", "Nothing of this matters much. ".repeat(80));
        assert_eq!(served.client.say("long", &text)["state"], "done");
    }
    drop(served);
    let ran = workspace.start("count", &[]);
    assert_eq!(ran.status, 0, "{ran:?}");
    assert_eq!(workspace.context.dispatch(&["session", "fork", "main", "other"]).status, 0);
}

#[test]
fn everything_is_copied_to_a_server_and_back() {
    let server = PostgresServer::start();
    let model = ScriptedModel::answering(answer);
    let hooks = json!([{ "id": "count", "trigger": "onDidSaveTextDocument", "pattern": "*.x",
                         "command": sh("echo one; echo two") }]);
    let workspace = Workspace::new(&hooks);
    live(&workspace, &model);
    let context = &workspace.context;
    let home = context.home();
    let before = tables(&home.join("dispatch.db"));
    for table in ["agent_outputs", "approvals", "permission_grants", "hook_runs", "hook_outputs", "summaries"] {
        assert!(rows(&before, table) > 0, "{table} is empty: {:?}", before.keys());
    }

    let url = server.url();
    let there = context.dispatch(&["storage", "copy", "sqlite:dispatch.db", &url, "--json"]);
    assert_eq!(there.status, 0, "{there:?}");
    let again = context.dispatch(&["storage", "copy", "sqlite:dispatch.db", &url]);
    assert!(again.stderr.contains("is not empty"), "{again:?}");
    let setting = |url: &str| format!("storage.url={url}");
    let show = |url: &str| context.dispatch(&["--set", &setting(url), "session", "export", "other"]).stdout;
    assert_eq!(show(&url), show("sqlite:dispatch.db"));
    let search = context.dispatch(&["--set", &setting(&url), "session", "search", "uber", "--json"]).json();
    assert!(!search["hits"].as_array().unwrap().is_empty(), "{search}");
    let back = context.dispatch(&["storage", "copy", &url, "sqlite:back.db", "--json"]);
    assert_eq!(back.status, 0, "{back:?}");
    assert_eq!(back.json(), there.json(), "the same tables with as many rows");
    let after = tables(&home.join("back.db"));
    for (table, content) in &before {
        assert_eq!(after.get(table), Some(content), "{table}");
    }
    assert_eq!(after.len(), before.len());
    let more = ["--set", "model.provider=rehearsal", "--set", &setting(&url), "chat", "go on", "--session", "main"];
    let talk = context.dispatch(&more);
    assert_eq!(talk.status, 0, "numbers go on behind those that were copied: {talk:?}");
}
