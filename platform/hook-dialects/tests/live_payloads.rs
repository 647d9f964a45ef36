//! Payloads that real agents sent, and replies that they were seen to obey.

#![allow(clippy::disallowed_methods, reason = "tests set up and look at real files and processes")]
#![allow(clippy::expect_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::process::Command;

use dispatch_hook_dialects::dialect::{self, Hints, Parsed};
use dispatch_hook_dialects::{Answer, Reply};
use serde_json::Value;

fn read(host: &str, event: &str, file: &str) -> Parsed {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/live").join(host).join(file);
    let bytes = std::fs::read(path).expect("a recorded payload");
    dialect::parse(&bytes, Some(host), Some(event), &Hints::default()).expect("readable")
}

fn reply(host: &str, event: &str, file: &str, answer: &Answer) -> Reply {
    let parsed = read(host, event, file);
    parsed.dialect.render(&parsed.event, answer)
}

fn json(reply: &Reply) -> Value {
    serde_json::from_slice(&reply.stdout).expect("JSON")
}

/// Cline 3.0.65 ends the whole run at `cancel`, with exit status 0 and without a word to the model.
#[cfg(unix)]
#[test]
fn a_command_that_cline_may_not_run_becomes_one_that_fails_and_says_why() {
    let deny = Answer { code: Some("UB01".to_owned()), ..Answer::deny("It's too wide; `rm -rf $HOME` \"x\".") };
    let told = json(&reply("cline", "PreToolUse", "PreToolUse.run_commands.json", &deny));
    assert_eq!(told["cancel"], false, "{told}");
    let commands = told["overrideInput"]["commands"].as_array().expect("commands");
    assert_eq!(commands.len(), 1, "the call's own commands are gone: {told}");
    let line = commands[0].as_str().expect("a command");
    let output = Command::new("/bin/sh").args(["-c", line]).output().expect("a shell");
    assert_eq!(output.status.code(), Some(1), "{line}");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(said, "UB01: It's too wide; `rm -rf $HOME` \"x\".\n", "nothing of the reason is run");
    let edit = json(&reply("cline", "PreToolUse", "PreToolUse.editor.json", &deny));
    assert_eq!(edit["cancel"], false, "{edit}");
    let path = edit["overrideInput"]["path"].as_str().expect("a path");
    assert!(std::fs::create_dir_all(path).is_err() && std::fs::write(path, "x").is_err(), "{path}");
    assert!(edit["contextModification"].as_str().is_some_and(|text| text.contains("UB01")), "{edit}");
}

#[test]
fn a_halt_still_ends_clines_task() {
    let halt = Answer { halt: Some("enough".to_owned()), ..Answer::deny("no") };
    assert_eq!(json(&reply("cline", "PreToolUse", "PreToolUse.run_commands.json", &halt))["cancel"], true);
}

/// Goose 1.52.0 passes the reason of a refused stop on to the model and goes on.
#[test]
fn a_stop_of_goose_can_be_refused() {
    let refused = reply("goose", "Stop", "Stop.json", &Answer::deny("the tests were not run"));
    assert_eq!(refused.exit_code, 2);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("the tests were not run"));
    assert_eq!(reply("goose", "Stop", "Stop.json", &Answer::pass()).exit_code, 0);
}

/// These hosts report the end of a failed command as they report any other.
#[test]
fn a_failed_command_is_known_by_the_exit_status_in_its_result() {
    let table = [
        ("opencode", "tool.execute.after", "tool.execute.after.bash", "Exit code 1"),
        ("gemini-cli", "AfterTool", "AfterTool.run_shell_command", "Exit code 1"),
        ("qwen-code", "PostToolUse", "PostToolUse.run_shell_command", "Exit code 2"),
        ("copilot-cli", "PostToolUse", "PostToolUse.Bash", "Exit code 1"),
        ("cline", "PostToolUse", "PostToolUse.run_commands", "Command exited with code 1"),
    ];
    for (host, event, file, expected) in table {
        let failed = read(host, event, &format!("{file}.failed.json")).event;
        assert_eq!(failed.error.as_deref(), Some(expected), "{host}");
        assert_eq!(read(host, event, &format!("{file}.json")).event.error, None, "{host}");
    }
}

/// Qwen Code 0.15.10 fires UserPromptSubmit with an empty prompt before each request that follows a tool call.
#[test]
fn a_request_of_qwen_code_without_a_prompt_is_not_a_prompt() {
    let prompt = read("qwen-code", "UserPromptSubmit", "UserPromptSubmit.json").event;
    assert_eq!((prompt.name.as_str(), prompt.prompt.as_deref()), ("UserPromptSubmit", Some("go on")));
    let request = read("qwen-code", "UserPromptSubmit", "UserPromptSubmit.request.json").event;
    assert_eq!(request.name.as_str(), "ModelRequest");
}
