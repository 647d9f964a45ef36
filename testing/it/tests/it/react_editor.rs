//! `dispatch lsp` with the client of somebody else, as an editor uses it.

use crate::installed::python;
use crate::react_workspace::{FILE, Workspace, sh};
use crate::run_wire::told;
use serde_json::{Value, json};
use std::process::Command;

const PYGLS: &str = "pygls==2.1.1";

fn edit(workspace: &Workspace, file: &str) -> std::collections::BTreeMap<String, Value> {
    edit_with(workspace, file, "")
}

/// With an editor that can do these things beside.
fn edit_with(workspace: &Workspace, file: &str, abilities: &str) -> std::collections::BTreeMap<String, Value> {
    let python = python("lsp-client", PYGLS);
    let dispatch = workspace.context.command("dispatch");
    let mut command = Command::new(python);
    command.args(["-c", include_str!("react_editor/lsp_client.py")]).arg(dispatch.get_program());
    command.arg(workspace.context.project()).args([file, "saved by an editor\n", abilities]).env_clear();
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
fn an_editor_is_told_to_show_what_waits_for_approval_and_what_fails() {
    let workspace = Workspace::new(&json!([
        {"id": "bad", "trigger": "onDidSaveTextDocument", "pattern": "*.txt", "command": sh("echo wrong >&2; exit 9")},
    ]));
    let cloned = json!({"hooks": [
        {"id": "bad", "trigger": "onDidSaveTextDocument", "pattern": "*.txt", "command": sh("echo wrong >&2; exit 9")},
        {"id": "new", "trigger": "onDidSaveTextDocument", "pattern": "*.md", "command": ["true"]},
    ]});
    workspace.context.write_cloned(FILE, cloned.to_string());
    let told = edit(&workspace, "a.txt");
    let waits = "Dispatch: hook waits for your approval: `new`; review with `dispatch trust .akira/hooks.json`";
    assert_eq!(told["shown"], json!([[2, waits], [1, "Dispatch: hook `bad`: failed: exit code 9: wrong"]]), "{told:?}");
}

#[test]
fn an_editor_that_waits_gets_edits_of_what_is_not_saved_yet() {
    let loud = r#"tr a-z A-Z < "$DISPATCH_FILE" > "$DISPATCH_FILE.new" && mv "$DISPATCH_FILE.new" "$DISPATCH_FILE""#;
    let workspace = Workspace::new(&json!([
        {"id": "loud", "trigger": "onWillSaveTextDocument", "pattern": "*.txt", "command": sh(loud)},
        {"id": "note", "trigger": "onDidSaveTextDocument", "pattern": "*.txt", "command": ["true"]},
    ]));
    workspace.save("a.txt", "on the disk\n");
    let told = edit_with(&workspace, "a.txt", "wait");
    let whole = json!({"start": {"line": 0, "character": 0}, "end": {"line": 1, "character": 0}});
    assert_eq!(told["edits"], json!([{"range": whole, "newText": "SAVED BY AN EDITOR\n"}]), "{told:?}");
    assert_eq!(told["remarks"], json!([]));
}

#[test]
fn hooks_before_a_save_build_on_each_other_and_a_late_or_failing_one_takes_nothing_from_them() {
    let append = |text: &str| sh(&format!("printf '{text}\\n' >> \"$DISPATCH_FILE\""));
    let on_save = |id: &str, command: Value| json!({"id": id, "trigger": "onWillSaveTextDocument", "pattern": "*.txt", "command": command});
    let workspace = Workspace::new(&json!([
        on_save("first", append("one")),
        on_save("broken", sh("echo lost >> \"$DISPATCH_FILE\"; exit 3")),
        on_save("second", append("two")),
        on_save("late", sh("until [ -e release ]; do sleep 0.05; done; echo late >> \"$DISPATCH_FILE\"")),
        on_save("never", append("three")),
        {"id": "note", "trigger": "onDidSaveTextDocument", "pattern": "*.txt", "command": ["true"]},
    ]));
    workspace.save("a.txt", "on the disk\n");
    let told = edit_with(&workspace, "a.txt", "wait");
    let edits = told["edits"].as_array().unwrap();
    let text = edits.first().and_then(|edit| edit["newText"].as_str()).unwrap_or_default();
    // A busy machine may cut the row off earlier; what is edited in is whole and in order all the same.
    let whole = ["", "saved by an editor\none\n", "saved by an editor\none\ntwo\n"];
    assert!(whole.contains(&text), "{told:?}");
    assert!(told["logged"].to_string().contains("hook `late` was not done in time"), "{told:?}");
    workspace.save("release", "");
    let statuses = workspace.wait_for_runs(6);
    assert_eq!(
        statuses.iter().filter(|run| run["status"] == "success").count(),
        5,
        "each runs all the same: {statuses:?}"
    );
}

#[test]
fn an_editor_that_does_not_wait_is_told_so_beside_the_hook() {
    for (abilities, expected, runs) in [("", "does not say when", 1), ("tell", "does not wait for the hook", 2)] {
        let workspace = Workspace::new(&json!([
            {"id": "loud", "trigger": "onWillSaveTextDocument", "pattern": "*.txt", "command": ["true"]},
            {"id": "note", "trigger": "onDidSaveTextDocument", "pattern": "*.txt", "command": ["true"]},
        ]));
        let told = edit_with(&workspace, "a.txt", abilities);
        let remarks = told["remarks"].as_array().unwrap();
        let [remark] = remarks.as_slice() else { panic!("{told:?}") };
        assert!(remark[0] == 3 && remark[1].as_str().unwrap().contains(expected), "{told:?}");
        assert!(told["logged"].to_string().contains("hook `loud`: this editor"), "{told:?}");
        assert_eq!(workspace.wait_for_runs(runs).len(), runs);
    }
}
