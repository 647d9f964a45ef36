//! The OpenCode bridge, run for real: its payloads are ones we read, our replies are ones it obeys.

#![allow(clippy::disallowed_methods, reason = "tests set up and look at real files and processes")]
#![allow(clippy::expect_used, clippy::print_stderr, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use dispatch_hook_dialects::Answer;
use dispatch_hook_dialects::dialect::{self, Hints};
use dispatch_hook_dialects::register::{self, CommandLine, Layout, Scope, System};
use dispatch_hook_module::{EventName, HookEvent};

use serde_json::{Value, json};

/// Stands in for Dispatch: keeps what it is told and answers from a file.
const STAND_IN: &str = r#"
import { readFileSync, writeFileSync } from "node:fs";
const event = process.argv[2];
const told = readFileSync(0, "utf8");
writeFileSync(new URL(`told-${event}.json`, import.meta.url), told);
const replies = JSON.parse(readFileSync(new URL("replies.json", import.meta.url), "utf8"));
if (event === "session.idle") process.exit(3);
process.stdout.write(replies[event] ?? "not json");
"#;

/// Fires each hook once and prints what became of its output.
const DRIVER: &str = r#"
import { DispatchPlugin } from "./dispatch.mjs";
const hooks = await DispatchPlugin({ directory: process.argv[2] });
const seen = {};
await hooks.event({ event: { type: "session.created", properties: { info: { id: "ses_01" } } } });
await hooks.event({ event: { type: "session.idle", properties: { sessionID: "ses_01" } } });
await hooks.event({ event: { type: "tui.noise", properties: {} } });
const call = { tool: "bash", sessionID: "ses_01", callID: "call_01" };
const before = { args: { command: "npm test", extra: 1 } };
await hooks["tool.execute.before"](call, before);
seen.before = before;
const after = { title: "t", output: "ran", metadata: {} };
await hooks["tool.execute.after"]({ ...call, args: { command: "npm test" } }, after);
seen.after = after;
const message = { message: { id: "m" }, parts: [{ type: "text", text: "Add validation" }] };
await hooks["chat.message"]({ sessionID: "ses_01" }, message);
seen.message = message.parts;
const permission = { status: "ask" };
await hooks["permission.ask"]({ id: "p", type: "bash", sessionID: "ses_01", metadata: { command: "rm" } }, permission);
seen.permission = permission.status;
const compacting = { context: [] };
await hooks["experimental.session.compacting"]({ sessionID: "ses_01" }, compacting);
seen.compacting = compacting.context;
process.stdout.write(JSON.stringify(seen));
"#;

const DENIED_DRIVER: &str = r#"
import { DispatchPlugin } from "./dispatch.mjs";
const hooks = await DispatchPlugin({ directory: process.argv[2] });
try {
  await hooks["tool.execute.before"]({ tool: "bash", sessionID: "s", callID: "c" }, { args: {} });
  process.stdout.write("\"went through\"");
} catch (error) {
  process.stdout.write(JSON.stringify(error.message));
}
"#;

fn reply(event: &str, answer: &Answer) -> String {
    let opencode = dialect::by_name("opencode").expect("a host");
    let name = opencode.event_name(event);
    let hook_event = HookEvent::new(name, opencode.id(), event.to_owned(), Value::Null);
    String::from_utf8(opencode.render(&hook_event, answer).stdout).expect("UTF-8")
}

fn context(text: &str) -> Answer {
    Answer { context: vec![text.to_owned()], ..Answer::default() }
}

fn run(folder: &Path, driver: &str, replies: &BTreeMap<&str, String>) -> Value {
    let stand_in = folder.join("stand-in.mjs");
    let command = CommandLine::new(["node".to_owned(), stand_in.to_string_lossy().into_owned()], System::current());
    let target = register::targets("opencode", Scope::Project, System::current(), Layout::Current).expect("targets");
    let plugin = target[0].merge(None, &command).expect("merge");
    fs::write(folder.join("dispatch.mjs"), plugin).expect("write");
    fs::write(&stand_in, STAND_IN).expect("write");
    fs::write(folder.join("driver.mjs"), driver).expect("write");
    fs::write(folder.join("replies.json"), serde_json::to_vec(replies).expect("JSON")).expect("write");
    let output = Command::new("node").arg(folder.join("driver.mjs")).arg(folder).output().expect("node runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{errors}"))
}

fn node_is_missing() -> bool {
    let missing = Command::new("node").arg("--version").output().is_err();
    if missing {
        eprintln!("node is not installed: the bridge was not run");
    }
    missing
}

#[test]
fn the_bridge_passes_events_on_and_applies_the_answers() {
    if node_is_missing() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let rewrite = Answer { updated_input: Some(json!({"command": "npm test -- --ci"})), ..Answer::default() };
    let grant = Answer::granted();
    let replies = BTreeMap::from([
        ("tool.execute.before", reply("tool.execute.before", &rewrite)),
        ("tool.execute.after", reply("tool.execute.after", &Answer::deny("Lint failed"))),
        ("chat.message", reply("chat.message", &context("Branch: main"))),
        ("permission.ask", reply("permission.ask", &grant)),
        ("experimental.session.compacting", reply("experimental.session.compacting", &context("Keep the plan"))),
    ]);
    let seen = run(folder.path(), DRIVER, &replies);
    assert_eq!(seen["before"], json!({"args": {"command": "npm test -- --ci"}}));
    assert_eq!(seen["after"]["output"], "ran\n\nLint failed");
    assert_eq!(seen["message"], json!([{"type": "text", "text": "Add validation\n\nBranch: main"}]));
    assert_eq!(seen["permission"], "allow");
    assert_eq!(seen["compacting"], json!(["Keep the plan"]));

    for (event, name) in [
        ("session.created", EventName::SessionStart),
        ("session.idle", EventName::Stop),
        ("tool.execute.before", EventName::PreToolUse),
        ("tool.execute.after", EventName::PostToolUse),
        ("chat.message", EventName::UserPromptSubmit),
        ("experimental.session.compacting", EventName::PreCompact),
    ] {
        let told = fs::read(folder.path().join(format!("told-{event}.json"))).expect(event);
        let parsed = dialect::parse(&told, None, None, &Hints::default()).expect(event);
        assert_eq!((parsed.dialect.id(), &parsed.event.name), ("opencode", &name), "{event}");
        assert_eq!(parsed.event.session_id.as_deref(), Some("ses_01"), "{event}");
        assert_eq!(parsed.event.cwd.as_deref(), folder.path().to_str(), "{event}");
    }
    assert!(!folder.path().join("told-tui.noise.json").exists());
}

#[test]
fn the_bridge_throws_on_a_deny_and_lets_go_on_anything_else() {
    if node_is_missing() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let denied = BTreeMap::from([("tool.execute.before", reply("tool.execute.before", &Answer::deny("Protected")))]);
    assert_eq!(run(folder.path(), DENIED_DRIVER, &denied), json!("Protected"));
    assert_eq!(run(folder.path(), DENIED_DRIVER, &BTreeMap::new()), json!("went through"));
}
