//! Neovim 0.10 as a person uses it, set up as the documentation says.

use crate::installed::{DebianFiles, debian};
use crate::react_workspace::{Workspace, sh};
use crate::run_workspace::wait_until;
use serde_json::{Value, json};
use std::process::Stdio;

const LOUD: &str =
    r#"tr a-z A-Z < "$DISPATCH_FILE" > "$DISPATCH_FILE.new" && mv "$DISPATCH_FILE.new" "$DISPATCH_FILE""#;

/// Neovim and Helix. This release of Debian is the first that has them; the one before has Neovim 0.7.
pub(crate) fn editors() -> DebianFiles {
    debian("trixie", &["neovim", "hx"])
}

/// The block that follows a heading of the documentation.
pub(crate) fn documented(heading: &str) -> String {
    let text = include_str!("../../../../docs/workspace-hooks.md");
    let (_, after) = text.split_once(heading).unwrap_or_else(|| panic!("{heading} is documented"));
    let block = after.split("```").nth(1).expect("a block");
    let (_, lines) = block.split_once('\n').expect("lines");
    assert!(lines.lines().count() < 5, "a set-up has less than five lines: {lines}");
    lines.to_owned()
}

#[test]
fn a_person_saves_in_neovim_is_told_and_leaves_a_run_behind() {
    let files = editors();
    let workspace = Workspace::new(&json!([]));
    let hooks = json!([
        {"id": "note", "trigger": "onDidSaveTextDocument", "pattern": "*.txt", "command": sh("cat a.txt > noted")},
        {"id": "bad", "trigger": "onDidSaveTextDocument", "pattern": "*.bad", "command": sh("exit 9")},
        {"id": "loud", "trigger": "onWillSaveTextDocument", "pattern": "*.md", "command": sh(LOUD)},
        {"id": "late", "trigger": "onWillSaveTextDocument", "pattern": "*.late",
            "command": sh("until [ -e saved ]; do sleep 0.02; done; cat \"$DISPATCH_FILE\" > unhurried")},
        {"id": "last", "trigger": "onDidSaveTextDocument", "pattern": "*.end",
            "command": sh("until [ -e left ]; do sleep 0.02; done")},
    ]);
    workspace.context.write_cloned(".akira/hooks.json", json!({ "hooks": hooks }).to_string());
    workspace.context.write_home("init.lua", documented("### Neovim"));
    workspace.context.write_home("session.lua", include_str!("react_neovim/session.lua"));

    let mut command = files.command("nvim");
    let home = workspace.context.home();
    command.args(["--headless", "-n", "-i", "NONE", "-u"]).arg(home.join("init.lua"));
    command.arg("-S").arg(home.join("session.lua")).current_dir(workspace.context.project()).env_clear();
    let ours = workspace.context.command("dispatch");
    command.envs(ours.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.env("VIMRUNTIME", files.path("usr/share/nvim/runtime")).stdin(Stdio::null());
    let output = command.output().expect("neovim runs");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    let seen: Value = serde_json::from_str(said.trim()).unwrap_or_else(|error| panic!("{error}: {said}"));
    assert_eq!((&seen["unapproved"], &seen["trust"]), (&json!(""), &json!(0)), "nothing ran before: {seen}");
    assert_eq!((&seen["buffer"], &seen["modified"]), (&json!(true), &json!(false)), "the edit is shown: {seen}");

    // The editor is gone; what it left ends with a worker.
    wait_until("the last save is a run", || workspace.runs().iter().any(|run| run["hookId"] == "last"));
    workspace.save("left", "");
    let runs = workspace.wait_for_runs(5);
    let last = runs.iter().find(|run| run["hookId"] == "last").expect("the run of `:wq`");
    assert_eq!(last["status"], "success", "{runs:?}");
    let late = runs.iter().find(|run| run["hookId"] == "late").expect("the run that was late");
    assert_eq!(late["status"], "success", "it kept its copy: {runs:?}");
    assert_eq!(workspace.read("unhurried"), "no hurry\n");
}
