//! Helix in a terminal, set up as the documentation says.

use crate::react_neovim::{documented, editors};
use crate::react_workspace::{Workspace, sh};
use crate::run_workspace::wait_until;
use dispatch_support::Terminal;
use serde_json::json;
use std::process::Command;

#[test]
fn a_person_saves_in_helix_and_is_told() {
    let files = editors();
    let workspace = Workspace::new(&json!([]));
    let hooks = json!([
        {"id": "note", "trigger": "onDidSaveTextDocument", "pattern": "a.md", "command": sh("cat a.md > noted")},
        {"id": "bad", "trigger": "onDidSaveTextDocument", "pattern": "a.md", "command": sh("exit 9")},
    ]);
    workspace.context.write_cloned(".akira/hooks.json", json!({ "hooks": hooks }).to_string());
    workspace.context.write_home(".config/helix/languages.toml", documented("### Helix"));

    let started = files.command("hx");
    let mut command = Command::new("sh");
    command
        .args(["-c", "stty rows 24 cols 160; exec \"$@\"", "sh"])
        .arg(started.get_program())
        .args(started.get_args());
    let log = workspace.context.home().join("helix.log");
    command.args(["-vv", "a.md", "--log"]).arg(&log).current_dir(workspace.context.project()).env_clear();
    let ours = workspace.context.command("dispatch");
    command.envs(ours.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.env("HELIX_RUNTIME", files.path("usr/lib/hx/runtime"));
    let mut terminal = Terminal::start(command);
    // On the screen a message is in pieces, because only what changes is drawn; the log has it whole.
    let shows = |text: &str| {
        let logged = || std::fs::read(&log).unwrap_or_default();
        wait_until(text, || String::from_utf8_lossy(&logged()).contains(text));
    };
    shows("editor warning: Dispatch: hooks wait for your approval: `note`, `bad`");
    workspace.approve();
    terminal.press("i");
    terminal.wait_for("INS");
    terminal.press("saved in helix\u{1b}");
    terminal.wait_for("NOR");
    terminal.press(":w\r");
    shows("editor error: Dispatch: hook `bad`: failed: exit code 9");
    workspace.wait_for_file("noted");
    terminal.press(":q\r");
    let (status, screen) = terminal.finish();
    assert_eq!(status, 0, "{screen}");
    workspace.wait_for_runs(2);
    assert_eq!(workspace.read("noted").trim(), "saved in helix");
}
