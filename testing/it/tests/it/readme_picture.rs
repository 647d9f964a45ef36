//! The terminal session that the README shows: run for real, drawn as `docs/assets/session.svg` and compared with it.

mod svg;

use dispatch_support::TestContext;
use std::path::{Path, PathBuf};
use svg::{TerminalLine, draw};

/// What is typed, one command line each.
const SESSION: [&str; 4] = [
    "dispatch init --host claude-code",
    "cat call.json      # what Claude Code sends before it runs a command",
    "dispatch hook --host claude-code < call.json",
    "dispatch why last",
];
const CALL: &str =
    r#"{"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "git push --force"}}"#;

#[test]
fn the_picture_in_the_readme_is_what_a_real_session_prints() {
    let fresh = draw(&session());
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/assets/session.svg");
    if std::env::var_os("DISPATCH_WRITE_GENERATED").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &fresh).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        without_variable_parts(&committed) == without_variable_parts(&fresh),
        "docs/assets/session.svg is out of date: run `cargo xtask picture` and commit the result\n{fresh}"
    );
}

/// Types every line into a real shell, in a project of its own.
fn session() -> Vec<TerminalLine> {
    let context = TestContext::new();
    context.write("call.json", format!("{CALL}\n"));
    let program = context.command("dispatch").get_program().to_owned();
    let folder = Path::new(&program).parent().unwrap().to_owned();
    let system_path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths([folder.clone()].into_iter().chain(std::env::split_paths(&system_path))).unwrap();
    let mut lines = Vec::new();
    for typed in SESSION {
        let mut shell = context.shell(&format!("{typed} 2>&1"));
        let output = shell.env("PATH", &path).output().expect("a shell");
        assert!(output.status.success(), "{typed}: {output:?}");
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        lines.push(TerminalLine::Typed(typed.to_owned()));
        lines.extend(
            as_a_user_sees_it(&printed, &context, &folder).lines().map(|line| TerminalLine::Printed(line.to_owned())),
        );
        lines.push(TerminalLine::Printed(String::new()));
    }
    lines.pop();
    lines
}

/// The folders of the test are shown as those of a user.
fn as_a_user_sees_it(printed: &str, context: &TestContext, programs: &Path) -> String {
    let folders: [(PathBuf, &str); 2] =
        [(context.project(), "/home/you/shop"), (programs.to_owned(), "/home/you/.local/bin")];
    let mut text = printed.to_owned();
    for (folder, shown) in folders {
        text = text.replace(&folder.display().to_string(), shown);
    }
    text
}

/// Digits and hexadecimal ids change from run to run: times, durations, the id of the session.
fn without_variable_parts(picture: &str) -> String {
    let mut kept = String::new();
    for line in picture.lines() {
        let words = line.split_inclusive(' ').map(|word| if is_variable(word) { "# " } else { word });
        kept.extend(words);
        kept.push('\n');
    }
    kept
}

fn is_variable(word: &str) -> bool {
    let word = word.trim_end().trim_end_matches("</text>").trim_end_matches(',');
    let is_session = word.len() == 8 && word.chars().all(|character| character.is_ascii_hexdigit());
    let is_run = word.starts_with("PreToolUse-");
    let is_time = word.contains('T') && word.ends_with('Z') && word.contains(':');
    let is_number = |text: &str| !text.is_empty() && text.chars().all(|character| character.is_ascii_digit());
    let is_duration = word.split_once('.').is_some_and(|(whole, rest)| is_number(whole) && is_number(rest));
    is_session || is_run || is_time || is_duration
}

#[test]
fn only_times_and_ids_are_left_out_of_the_comparison() {
    for variable in ["143b917e,", "PreToolUse-0-1794938693927", "2026-11-17T18:04:53.927Z</text>", "0.17", "4.34"] {
        assert!(is_variable(variable), "{variable}");
    }
    for fixed in ["deny:", "GT04", "decision", "10", "graph-pretooluse", "1.", "facade"] {
        assert!(!is_variable(fixed), "{fixed}");
    }
}
