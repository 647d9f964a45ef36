//! `dispatch lsp` with the client of somebody else, as an editor uses it.

use crate::installed::python;
use crate::react_workspace::{Workspace, sh};
use crate::run_wire::told;
use serde_json::{Value, json};
use std::process::Command;

const PYGLS: &str = "pygls==2.1.1";

fn edit(workspace: &Workspace, file: &str) -> std::collections::BTreeMap<String, Value> {
    let python = python("lsp-client", PYGLS);
    let dispatch = workspace.context.command("dispatch");
    let mut command = Command::new(python);
    command.args(["-c", include_str!("react_editor/lsp_client.py")]).arg(dispatch.get_program());
    command.arg(workspace.context.project()).args([file, "saved by an editor\n"]).env_clear();
    told(command.envs(dispatch.get_envs().filter_map(|(name, value)| Some((name, value?)))))
}

#[test]
fn an_editor_saves_and_is_told_of_the_run() {
    // It ends when the editor shows that it goes.
    let script = "until [ -e shown ]; do sleep 0.02; done; cat a.txt";
    let workspace = Workspace::new(&json!([
        {"id": "show", "trigger": "onDidSaveTextDocument", "pattern": "*.txt", "command": sh(script)},
    ]));
    let told = edit(&workspace, "a.txt");
    let logged = told["logged"].as_array().unwrap();
    let has = |kind: i64, text: &str| logged.iter().any(|it| it[0] == kind && it[1].as_str().unwrap().contains(text));
    assert!(has(3, "hook `show` for a.txt started"), "{told:?}");
    assert!(has(3, "hook `show` for a.txt succeeded") && has(3, "saved by an editor"), "{told:?}");
    assert_eq!(told["asked"].as_array().map(Vec::len), Some(1), "{told:?}");
    let token = &told["asked"][0];
    assert_eq!(told["progress"], json!([[token, "begin"], [token, "end"]]));
    assert_eq!((&told["status"], &told["server"]), (&0.into(), &"dispatch".into()));
    let runs = workspace.runs();
    assert_eq!(runs.len(), 1, "{runs:?}");
    assert_eq!((&runs[0]["hookId"], &runs[0]["status"]), (&"show".into(), &"success".into()));
    assert_eq!(*token, json!(format!("dispatch/{}", runs[0]["id"].as_str().unwrap())));
}

#[test]
fn an_editor_is_told_of_a_failure_as_an_error() {
    let workspace = Workspace::new(&json!([
        {"id": "bad", "trigger": "onDidSaveTextDocument", "pattern": "*.txt", "command": sh("echo wrong >&2; exit 9")},
    ]));
    // A watcher sees the same save; that makes no second run.
    let watch = workspace.watch();
    let told = edit(&workspace, "a.txt");
    let logged = told["logged"].to_string();
    assert!(logged.contains("hook `bad` for a.txt failed") && logged.contains("exit code 9: wrong"), "{told:?}");
    assert!(told["logged"].as_array().unwrap().iter().any(|it| it[0] == 1), "{told:?}");
    watch.wait_for_ended(1);
    watch.stop();
    assert_eq!(workspace.runs().len(), 1);
}

#[test]
fn the_extension_of_vs_code_passes_the_tests_it_has() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../editors/vscode");
    let run = Command::new("node").args(["--test", "test/extension.test.js"]).current_dir(folder).output().unwrap();
    let said = String::from_utf8_lossy(&run.stdout);
    let ran = said.contains("every command and setting that is used is declared");
    assert!(run.status.success() && ran, "{said}{}", String::from_utf8_lossy(&run.stderr));
}
