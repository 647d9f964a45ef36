//! The extension of VS Code: packed as its documentation says, and in the slow lane used in the real editor.

use crate::installed::{debian_here, install, succeeds};
use crate::react_workspace::{Workspace, sh};
use crate::run_wire::told;
use dispatch_support::slow_lane;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::Command;

const EXTENSION: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../editors/vscode");
const CODE_SERVER: &str = "code-server@4.139.1";
const PLAYWRIGHT: &str = "playwright-core@1.65.1";
/// The one that this `code-server` is for.
const NODE: &str = "24";
const LOUD: &str =
    r#"tr a-z A-Z < "$DISPATCH_FILE" > "$DISPATCH_FILE.new" && mv "$DISPATCH_FILE.new" "$DISPATCH_FILE""#;

/// Packs the extension in a folder of its own.
fn packed(folder: &Path) -> PathBuf {
    copy(Path::new(EXTENSION), folder);
    succeeds(Command::new("npm").args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"]).current_dir(folder));
    succeeds(Command::new("npm").args(["run", "package"]).current_dir(folder));
    let mut files = std::fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path());
    files.find(|file| file.extension().is_some_and(|extension| extension == "vsix")).expect("a package")
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().flatten() {
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        if source.is_dir() && entry.file_name() != "node_modules" {
            copy(&source, &target);
        } else if source.is_file() {
            std::fs::copy(source, target).unwrap();
        }
    }
}

#[test]
fn what_the_extension_shows_is_right() {
    let run = Command::new("node").args(["--test", "test/words.test.js"]).current_dir(EXTENSION).output().unwrap();
    let said = String::from_utf8_lossy(&run.stdout);
    let ran = said.contains("every declared command is there");
    assert!(run.status.success() && ran, "{said}{}", String::from_utf8_lossy(&run.stderr));
}

#[test]
fn the_package_of_the_extension_holds_all_it_requires() {
    let folder = tempfile::tempdir().unwrap();
    let package = packed(&folder.path().join("source"));
    let unpacked = folder.path().canonicalize().unwrap().join("unpacked");
    succeeds(Command::new("python3").args(["-m", "zipfile", "-e"]).arg(package).arg(&unpacked));
    let mut command = Command::new("node");
    command.args(["-e", include_str!("react_vscode/resolve.js"), "node"]).arg(unpacked.join("extension"));
    let told = told(&mut command);
    assert_eq!(told["missing"], json!([]));
    assert!(told["files"].as_u64().unwrap() > 50, "the language client is in it: {told:?}");
    assert!(unpacked.join("extension/schema/workspace-hooks.schema.json").is_file());
}

/// The editor without its native parts, which would have to be compiled.
fn editor() -> PathBuf {
    install("vscode", &CODE_SERVER.replace('@', "-"), |place| {
        let npm = |folder: &Path, packages: &[&str]| {
            let quiet = ["install", "--silent", "--no-audit", "--no-fund", "--omit=dev", "--ignore-scripts"];
            succeeds(Command::new("npm").args(quiet).args(packages).current_dir(folder));
        };
        std::fs::create_dir_all(place).expect("a folder");
        std::fs::write(place.join("package.json"), "{}").expect("a package of its own");
        let machine = if std::env::consts::ARCH == "aarch64" { "arm64" } else { "x64" };
        npm(place, &[CODE_SERVER, PLAYWRIGHT, &format!("node@npm:node-linux-{machine}@{NODE}")]);
        let vscode = place.join("node_modules/code-server/lib/vscode");
        npm(&vscode, &[]);
        npm(&vscode.join("extensions"), &[]);
        let log = vscode.join("node_modules/@vscode/spdlog/index.js");
        std::fs::write(log, include_str!("react_vscode/spdlog.js")).expect("the log");
    })
}

#[test]
fn a_person_uses_the_extension_in_vs_code() {
    if !slow_lane() {
        return;
    }
    let (editor, browser) = (editor(), debian_here(&["chromium"]));
    let workspace = Workspace::new(&json!([]));
    let bad = "[ ! -e broken ] || { echo the linter says no >&2; exit 9; }";
    let slow = "echo first line; until [ -e go ]; do sleep 0.02; done; echo last line";
    let hooks = json!([
        {"id": "note", "trigger": "onDidSaveTextDocument", "pattern": "a.txt", "command": sh("cat a.txt > noted")},
        {"id": "bad", "trigger": "onDidSaveTextDocument", "pattern": "*.bad", "command": sh(bad)},
        {"id": "loud", "trigger": "onWillSaveTextDocument", "pattern": "*.md", "command": sh(LOUD)},
        {"id": "slow", "trigger": "manual", "command": sh(slow)},
        {"id": "propose", "trigger": "manual", "place": "patch", "command": sh("echo proposed > proposed.txt"),
            "budget": {"tokensPerDay": 1000}},
    ]);
    let text = serde_json::to_string_pretty(&json!({ "hooks": hooks })).unwrap();
    workspace.context.write_cloned(".akira/hooks.json", text);
    for file in ["a.txt", "b.bad", "c.md"] {
        workspace.save(file, "old\n");
    }
    workspace.make_repository();

    let place = tempfile::tempdir().unwrap();
    for (name, text) in [
        ("editor.mjs", include_str!("react_vscode/editor.mjs")),
        ("session.mjs", include_str!("react_vscode/session.mjs")),
    ] {
        std::fs::write(place.path().join(name), text).unwrap();
    }
    let dispatch = workspace.context.command("dispatch");
    let libraries = browser.libraries();
    let libraries = std::env::join_paths([&libraries, &libraries.join("pulseaudio")]).unwrap();
    let mut command = Command::new(editor.join("node_modules/node/bin/node"));
    command.arg(place.path().join("session.mjs")).arg(workspace.context.project()).arg(place.path().join("data"));
    command.arg(packed(&place.path().join("extension"))).arg(dispatch.get_program()).env_clear();
    command.envs(dispatch.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.env("EDITOR_FOLDER", editor).env("CHROMIUM_LIBRARIES", libraries);
    command.env("CHROMIUM", browser.path("usr/lib/chromium/chromium"));
    if let Some(folder) = std::env::var_os("DISPATCH_SCREENSHOTS") {
        command.env("SCREENSHOTS", folder);
    }
    let told = told(&mut command);
    assert_eq!((&told["over"], &told["waiting"]), (&json!(true), &json!("5 to approve")));
    assert_eq!(told["tabs"], 0, "the review is closed again");
    assert!(told["found"].to_string().contains("the linter says no"), "{told:?}");
    assert!(told["budget"].to_string().contains("limit 1000 tokens"), "{told:?}");
}
