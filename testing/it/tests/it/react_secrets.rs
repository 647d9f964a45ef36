//! Secrets that runs meet on their way: afterwards they are nowhere that we write or print.

use crate::react_workspace::{PipeText, Workspace, is_over, sh};
use crate::run_workspace::wait_until;
use dispatch_support::{Reply, ScriptedModel, TestContext};
use serde_json::{Value, json};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// Built from halves, so that nobody who looks for secrets in this file finds any.
const KEY: &str = concat!("AKIA", "Q7RZ2MNPX4LTV6WB");
const TOKEN: &str = concat!("ghp_", "x7Kq2Zr9Lm4Tn8Vb1Wc6Yd3Pf5Hs0Jg2Ra4T");
/// Only the hooks know that this is one.
const OWN: &str = "canary-4711-canary";
const PATTERN: &str = "canary-[0-9]+-canary";
/// Nobody knows by its form that this is one; the variable's name says so.
const HANDED_ON: &str = "melon-otter-quartz-lamp";

/// The field's name says that this is one.
const PASSWORD: &str = "Quartz7!otter2";

const ALL: [&str; 5] = [KEY, TOKEN, OWN, HANDED_ON, PASSWORD];

/// Every file below a folder, whatever it is.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => found.extend(files_below(&path)),
            Ok(_) => found.push(path),
            Err(_) => {}
        }
    }
    found
}

/// Where a secret is written in a file below these folders, or in its name.
fn leaks(folders: &[PathBuf]) -> Vec<String> {
    let mut leaks = Vec::new();
    for file in folders.iter().flat_map(|folder| files_below(folder)) {
        let content = std::fs::read(&file).unwrap_or_default();
        let name = file.display().to_string();
        for secret in ALL {
            let wide: Vec<u8> = secret.encode_utf16().flat_map(u16::to_le_bytes).collect();
            let holds = |bytes: &[u8]| content.windows(bytes.len()).any(|window| window == bytes);
            if holds(secret.as_bytes()) || holds(&wide) || name.contains(secret) {
                leaks.push(format!("{secret} in {name}"));
            }
        }
    }
    leaks
}

/// Nothing is left of the secrets where we write, and nothing was in what we printed.
#[track_caller]
fn check(workspace: &Workspace, printed: &[String]) {
    let project = workspace.context.project();
    let folders = [workspace.context.home(), project.join(".akira/logs"), project.join(".akira/inbox")];
    assert!(files_below(&folders[0]).iter().any(|file| file.to_string_lossy().contains(".db")), "there is a database");
    assert_eq!(leaks(&folders), Vec::<String>::new());
    for text in printed {
        let found: Vec<&str> = ALL.into_iter().filter(|secret| text.contains(secret)).collect();
        assert!(found.is_empty(), "{found:?} in {text}");
    }
}

/// All that the commands about runs print.
fn shown(workspace: &Workspace) -> Vec<String> {
    let mut printed = Vec::new();
    let mut print = |arguments: &[&str]| {
        let output = workspace.context.dispatch(arguments);
        printed.push(output.stdout + &output.stderr);
    };
    print(&["runs", "list"]);
    print(&["runs", "list", "--json"]);
    print(&["runs", "search", "a", "--json"]);
    print(&["workspace-hooks", "list", "--json"]);
    print(&["trust", "--list", "--json"]);
    for run in workspace.runs() {
        let id = run["id"].as_str().unwrap();
        print(&["runs", "show", id]);
        print(&["runs", "show", id, "--json"]);
        print(&["runs", "follow", id, "--json"]);
    }
    printed
}

/// A hook that knows our own form of secrets and tells the agent of its end.
fn hook(mut hook: Value) -> Value {
    hook["secretPatterns"] = json!([PATTERN]);
    hook["tellAgent"] = true.into();
    hook["passEnv"] = json!(["DEPLOY_TOKEN"]);
    hook["metadata"] = json!({ "note": format!("{KEY} {TOKEN} {OWN}") });
    hook
}

const VARIABLE: (&str, &str) = ("DEPLOY_TOKEN", HANDED_ON);

#[test]
fn a_program_that_prints_secrets_leaves_none() {
    let script = format!(
        "cat; echo made > \"{OWN}.made\"; echo \"$DEPLOY_TOKEN\"; printf '%s' {KEY}; sleep 0.1; echo; echo {TOKEN} {OWN} >&2; exit 1"
    );
    let workspace = Workspace::new(&json!([
        hook(json!({"id": "saved", "trigger": "onDidSaveTextDocument", "pattern": "*.txt", "command": sh(&script)})),
        hook(json!({"id": "sent", "trigger": "custom:go", "command": ["cat"]})),
        hook(json!({"id": "missing", "trigger": "custom:go", "command": [format!("/no/such/{TOKEN}/{OWN}")]})),
    ]));
    let watch = workspace.watch_with(&[VARIABLE]);
    for secret in [KEY, TOKEN, OWN] {
        workspace.save(&format!("{secret}.txt"), "text");
    }
    let data = json!({"password": PASSWORD, "list": [KEY, {"deep": TOKEN}], "text": format!("it is {OWN}")});
    let mut printed = Vec::new();
    let sent = workspace.context.dispatch(&["event", "send", "go", "--data", &data.to_string(), "--json"]);
    assert_eq!(sent.status, 0, "{sent:?}");
    printed.push(sent.stdout + &sent.stderr);
    let runs = watch.wait_for_ended(5);
    let saved: Vec<&Value> = runs.iter().filter(|run| run["hookId"] == "saved").collect();
    assert!(saved.iter().all(|run| run["logs"].as_str().unwrap().contains("[REDACTED")), "{saved:?}");
    assert!(saved.iter().all(|run| run["exitCode"] == 1), "the program found its file: {saved:?}");
    printed.push(watch.stop());
    printed.extend(shown(&workspace));
    check(&workspace, &printed);
}

#[test]
fn our_own_agent_keeps_secrets_from_the_model_and_the_records() {
    let model = ScriptedModel::answering(|request| {
        let messages = request.json()["messages"].as_array().cloned().unwrap_or_default();
        match messages.last().and_then(|message| message["role"].as_str()) {
            Some("tool") => Reply::say(&format!("I have seen {KEY} and {TOKEN} and {OWN} .")),
            _ => Reply::call(&[("r", "read_file", json!({"path": "notes.txt"}))]),
        }
    });
    let workspace = Workspace { context: TestContext::new() };
    workspace.save("notes.txt", &format!("{KEY}\n{TOKEN}\n{OWN}\n"));
    let prompt = format!("Look at {{file}} with {KEY}, {TOKEN} and {OWN}. {{event}}");
    let asking = hook(json!({"id": "ask", "trigger": "manual", "prompt": prompt}));
    workspace
        .context
        .write(crate::react_workspace::FILE, json!({ "secretPatterns": [PATTERN], "hooks": [asking] }).to_string());
    workspace.approve();
    let base_url = model.base_url();
    let variables = [("DISPATCH_BASE_URL", base_url.as_str()), ("DISPATCH_MODEL", "scripted"), VARIABLE];
    let start = ["runs", "start", "ask", "--file", "notes.txt", "--wait", "--json"];
    let output = workspace.context.run("dispatch", &start, b"", &variables);
    assert_eq!(output.json()["status"], "success", "{output:?}");
    let mut printed = vec![output.stdout + &output.stderr];
    let first = model.requests().iter().find(|request| request.method == "POST").expect("it was asked").json();
    printed.push(first["messages"].to_string());
    printed.extend(shown(&workspace));
    check(&workspace, &printed);
}

#[test]
fn another_agent_gets_no_secrets_and_leaves_none() {
    let script = "printf '%s\\n' \"$1\" > got; echo \"$1\"; echo $DEPLOY_TOKEN >&2; cat notes.txt; exit 2";
    let workspace = Workspace { context: TestContext::new() };
    workspace.save("notes.txt", &format!("{KEY}\n{TOKEN}\n{OWN}\npassword: \"{PASSWORD}\"\n"));
    let prompt = format!("Look at {{file}} with {KEY}, {TOKEN} and {OWN}.");
    workspace.set(&json!([hook(json!({"id": "ask", "trigger": "manual", "prompt": prompt,
            "runner": {"command": ["sh", "-c", script, "agent", "{prompt}"]}})),]));
    workspace.save(&format!("{OWN}.txt"), "text");
    let start = ["runs", "start", "ask", "--file", &format!("{OWN}.txt"), "--wait", "--json"];
    let output = workspace.context.run("dispatch", &start, b"", &[VARIABLE]);
    let run = output.json();
    assert_eq!((&run["status"], &run["exitCode"]), (&"failed".into(), &2.into()), "{run}");
    let mut printed = vec![output.stdout + &output.stderr];
    let got = workspace.read("got");
    assert!(got.contains("Look at"), "{got}");
    assert!([KEY, TOKEN].iter().all(|secret| !got.contains(secret)), "{got}");
    printed.extend(shown(&workspace));
    check(&workspace, &printed);
}

#[test]
fn a_server_that_repeats_secrets_leaves_none() {
    let repeated = format!("{KEY} {TOKEN} {OWN} {HANDED_ON}");
    let model = ScriptedModel::playing([
        Reply::json(200, &json!({ "text": repeated })),
        Reply::json(400, &json!({ "error": { "message": repeated } })),
    ]);
    let workspace = Workspace::new(&json!([hook(
        json!({"id": "ask", "trigger": "manual", "prompt": format!("Look at {KEY} and {OWN}. {{event}}"),
            "runner": {"http": model.base_url(), "headers": {"authorization": "Bearer ${DEPLOY_TOKEN}"}}})
    ),]));
    let mut printed = Vec::new();
    for status in ["success", "failed"] {
        let output = workspace.context.run("dispatch", &["runs", "start", "ask", "--wait", "--json"], b"", &[VARIABLE]);
        assert_eq!(output.json()["status"], status, "{output:?}");
        printed.push(output.stdout + &output.stderr);
    }
    let asked = model.requests();
    let authorization = format!("Bearer {HANDED_ON}");
    assert!(asked.iter().all(|request| request.header("authorization") == Some(&authorization)), "{asked:?}");
    printed.extend(asked.iter().map(|request| request.json().to_string()));
    printed.extend(shown(&workspace));
    check(&workspace, &printed);
}

#[test]
fn a_patch_holds_the_change_as_it_is_and_nothing_else_does() {
    let workspace = Workspace { context: TestContext::new() };
    workspace.save("a.txt", "one\n");
    workspace.save(".gitignore", ".akira\n");
    workspace.make_repository();
    let script = format!("echo {OWN} > made.txt; cat made.txt; echo $DEPLOY_TOKEN; echo {KEY} {TOKEN} >&2");
    workspace.set(&json!([hook(json!({"id": "fix", "trigger": "manual", "place": "patch", "command": sh(&script)})),]));
    let start = ["runs", "start", "fix", "--wait", "--json"];
    let output = workspace.context.run("dispatch", &start, b"", &[VARIABLE]);
    let run = output.json();
    assert_eq!((&run["status"], &run["patch"]), (&"success".into(), &true.into()), "{run}");
    let mut printed = vec![output.stdout + &output.stderr];
    printed.extend(shown(&workspace));
    let id = run["id"].as_str().unwrap();
    let checked = workspace.context.dispatch(&["runs", "apply", id, "--check"]);
    assert_eq!(checked.status, 0, "{checked:?}");
    printed.push(checked.stdout + &checked.stderr);
    // A change that is offered has to be what it is; it is for its owner alone and goes with its run.
    let holding: Vec<PathBuf> = files_below(&workspace.context.home())
        .into_iter()
        .filter(|file| std::fs::read(file).is_ok_and(|bytes| String::from_utf8_lossy(&bytes).contains(OWN)))
        .collect();
    assert_eq!(holding.len(), 1, "{holding:?}");
    assert!(holding[0].extension().is_some_and(|extension| extension == "patch"), "{holding:?}");
    std::fs::remove_file(&holding[0]).unwrap();
    check(&workspace, &printed);
}

/// A message of the language server protocol.
fn framed(message: &Value) -> Vec<u8> {
    let text = message.to_string();
    format!("Content-Length: {}\r\n\r\n{text}", text.len()).into_bytes()
}

#[test]
fn an_editor_is_shown_no_secrets() {
    let script = format!("cat; echo \"$DEPLOY_TOKEN\"; echo {KEY} {TOKEN} {OWN}; echo {TOKEN} >&2; exit 1");
    let workspace = Workspace::new(&json!([hook(
        json!({"id": "saved", "trigger": "onDidSaveTextDocument", "pattern": "*.txt", "command": sh(&script)})
    ),]));
    let file = workspace.context.project().join(format!("{OWN}.txt"));
    std::fs::write(&file, "text").unwrap();
    let mut command = workspace.context.command("dispatch");
    command.arg("lsp").env(VARIABLE.0, VARIABLE.1).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let mut out = PipeText::gather(child.stdout.take().unwrap());
    let mut err = PipeText::gather(child.stderr.take().unwrap());
    let mut input = child.stdin.take().unwrap();
    let root = format!("file://{}", workspace.context.project().display());
    let uri = format!("file://{}", file.display());
    let capabilities = json!({"window": {"workDoneProgress": true}});
    for message in [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize",
            "params": {"processId": null, "rootUri": root, "capabilities": capabilities}}),
        json!({"jsonrpc": "2.0", "method": "initialized", "params": {}}),
        json!({"jsonrpc": "2.0", "method": "textDocument/didSave", "params": {"textDocument": {"uri": uri}}}),
    ] {
        input.write_all(&framed(&message)).unwrap();
    }
    wait_until("the editor is told of the end", || out.so_far().contains(" failed after "));
    assert!(workspace.runs().iter().all(is_over));
    input.write_all(&framed(&json!({"jsonrpc": "2.0", "id": 2, "method": "shutdown", "params": null}))).unwrap();
    input.write_all(&framed(&json!({"jsonrpc": "2.0", "method": "exit", "params": null}))).unwrap();
    assert!(child.wait().unwrap().success());
    let printed = out.whole() + &err.whole();
    assert!(printed.contains("hook `saved` for "), "{printed}");
    let mut all = vec![printed];
    all.extend(shown(&workspace));
    check(&workspace, &all);
}
