//! Every sample reply is what we would write for the same decision, key by key.

#![allow(clippy::disallowed_methods, reason = "tests set up and look at real files and processes")]
#![allow(clippy::expect_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};

use dispatch_hook_dialects::dialect::{self, Hints};
use dispatch_hook_dialects::{Answer, Reply};

use serde_json::{Value, json};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/fixtures")
}

fn render(host: &str, event: &str, payload: &str, answer: &Answer) -> Reply {
    let parsed =
        dialect::parse(payload.as_bytes(), Some(host), Some(event), &Hints::default()).expect("a readable payload");
    parsed.dialect.render(&parsed.event, answer)
}

fn json_of(reply: &Reply) -> Value {
    assert_eq!((reply.exit_code, reply.stderr.as_slice()), (0, b"".as_slice()));
    serde_json::from_slice(&reply.stdout).expect("one JSON object")
}

fn deny(reason: &str) -> Answer {
    Answer::deny(reason)
}

fn context(text: &str) -> Answer {
    Answer { context: vec![text.to_owned()], ..Answer::default() }
}

fn grant(updated_input: Option<Value>) -> Answer {
    Answer { updated_input, ..Answer::granted() }
}

fn halt(reason: &str) -> Answer {
    Answer { halt: Some(reason.to_owned()), ..Answer::default() }
}

fn said(answer: Answer, message: &str) -> Answer {
    Answer { system_message: Some(message.to_owned()), ..answer }
}

fn because(answer: Answer, reason: &str) -> Answer {
    Answer { reason: Some(reason.to_owned()), ..answer }
}

fn with_context(answer: Answer, text: &str) -> Answer {
    Answer { context: vec![text.to_owned()], ..answer }
}

/// Sample, event, and the decision it spells.
fn exact() -> Vec<(&'static str, &'static str, Answer)> {
    let ci = json!({"command": "npm test -- --ci"});
    let ci_gemini =
        json!({"command": "npm test -- --ci", "description": "Run tests", "dir_path": ".", "is_background": false});
    let ci_vscode = json!({"command": "npm test -- --ci", "explanation": "Run the tests", "goal": "Run tests", "isBackground": false, "timeout": 60000});
    let ci_claude = json!({"command": "npm test -- --ci", "description": "Run test suite", "timeout": 120000, "run_in_background": false});
    let ci_copilot = json!({"command": "npm test -- --ci", "description": "Run tests"});
    let tests_first = "Run the test suite first";
    let redacted = Answer { updated_output: Some(json!("[redacted]")), ..context("Output was redacted.") };
    vec![
        (
            "vscode-copilot/out/PostToolUse.block.json",
            "PostToolUse",
            with_context(deny("Lint failed: 2 errors"), "eslint src/validate.ts reported 2 errors"),
        ),
        ("vscode-copilot/out/PreToolUse.ask.json", "PreToolUse", Answer::ask("Touches a migration")),
        ("vscode-copilot/out/PreToolUse.deny.json", "PreToolUse", deny("Blocked by policy: protected path")),
        (
            "vscode-copilot/out/PreToolUse.rewrite.json",
            "PreToolUse",
            with_context(grant(Some(ci_vscode)), "CI flags were added."),
        ),
        ("vscode-copilot/out/SessionStart.context.json", "SessionStart", context("Branch: main")),
        ("vscode-copilot/out/Stop.block.json", "Stop", deny(tests_first)),
        ("vscode-copilot/out/SubagentStop.block.json", "SubagentStop", deny("Return file:line references")),
        ("vscode-copilot/out/UserPromptSubmit.block.json", "UserPromptSubmit", deny("Prompt contains a secret")),
        ("vscode-copilot/out/any.abort.json", "PostToolUse", said(halt("Policy violation"), "Stopped by policy hook")),
        ("claude-code/out/PostToolUse.block.json", "PostToolUse", deny("Lint failed: 2 errors")),
        ("claude-code/out/PreCompact.block.json", "PreCompact", deny("Task in progress")),
        (
            "claude-code/out/PreToolUse.allow-rewrite.json",
            "PreToolUse",
            with_context(because(grant(Some(ci_claude)), "normalised"), "CI flags were added."),
        ),
        ("claude-code/out/PreToolUse.ask.json", "PreToolUse", Answer::ask("Touches a migration")),
        ("claude-code/out/PreToolUse.deny.json", "PreToolUse", deny("Blocked by policy")),
        (
            "claude-code/out/PostToolUse.replace-output.json",
            "PostToolUse",
            Answer {
                updated_output: Some(
                    json!({"stdout": "[redacted]", "stderr": "", "interrupted": false, "isImage": false}),
                ),
                ..context("Output was redacted")
            },
        ),
        ("claude-code/out/Stop.block.json", "Stop", deny(tests_first)),
        ("claude-code/out/Stop.context.json", "Stop", context("Please run the test suite before finishing")),
        ("claude-code/out/SubagentStart.context.json", "SubagentStart", context("Follow the security rules")),
        ("claude-code/out/UserPromptSubmit.block.json", "UserPromptSubmit", deny("Prompt contains a secret")),
        ("claude-code/out/any.halt.json", "Stop", said(halt("Build failed"), "Stopped by hook")),
        ("copilot-cli/out/agentStop.block.json", "agentStop", deny(tests_first)),
        ("copilot-cli/out/permissionRequest.allow.json", "permissionRequest", grant(None)),
        ("copilot-cli/out/postToolUse.replace.json", "postToolUse", redacted),
        ("copilot-cli/out/preToolUse.ask.json", "preToolUse", Answer::ask("Touches a migration")),
        ("copilot-cli/out/preToolUse.deny.json", "preToolUse", deny("Blocked by policy")),
        (
            "copilot-cli/out/preToolUse.rewrite.json",
            "preToolUse",
            with_context(grant(Some(ci_copilot)), "CI flags were added."),
        ),
        ("copilot-cli/out/sessionStart.context.json", "sessionStart", context("Branch: main")),
        ("copilot-cli/out/subagentStart.context.json", "subagentStart", context("Use absolute paths")),
        ("copilot-cli-pascal/out/PreToolUse.deny.json", "PreToolUse", deny("Blocked by policy")),
        ("cursor/out/beforeMCPExecution.deny.json", "beforeMCPExecution", deny("Server not permitted")),
        ("cursor/out/beforeReadFile.deny.json", "beforeReadFile", deny("Secret file")),
        (
            "cursor/out/beforeShellExecution.ask.json",
            "beforeShellExecution",
            said(Answer::ask("Waiting for the user"), "Confirm force push"),
        ),
        ("cursor/out/beforeSubmitPrompt.block.json", "beforeSubmitPrompt", deny("Prompt contains a secret")),
        ("cursor/out/postToolUse.context.json", "postToolUse", context("Lint: 2 errors")),
        ("cursor/out/preCompact.message.json", "preCompact", said(Answer::pass(), "Compacting now")),
        (
            "cursor/out/preToolUse.deny.json",
            "preToolUse",
            said(deny("This path is protected; choose another."), "Blocked by policy"),
        ),
        ("cursor/out/preToolUse.rewrite.json", "preToolUse", grant(Some(ci.clone()))),
        ("cursor/out/stop.followup.json", "stop", deny(tests_first)),
        ("cursor/out/subagentStart.deny.json", "subagentStart", deny("No subagents here")),
        ("cursor/out/subagentStop.followup.json", "subagentStop", deny("Return file:line references")),
        ("gemini-cli/out/AfterAgent.retry.json", "AfterAgent", deny(tests_first)),
        ("gemini-cli/out/AfterTool.context.json", "AfterTool", context("Lint: 2 errors")),
        ("gemini-cli/out/AfterTool.deny.json", "AfterTool", deny("Result withheld: contains a secret")),
        ("gemini-cli/out/BeforeAgent.block.json", "BeforeAgent", deny("Prompt contains a secret")),
        ("gemini-cli/out/BeforeAgent.context.json", "BeforeAgent", context("Today is 2026-09-03")),
        ("gemini-cli/out/BeforeTool.ask.json", "BeforeTool", Answer::ask("Touches a migration")),
        (
            "gemini-cli/out/BeforeTool.deny.json",
            "BeforeTool",
            said(deny("Blocked by policy"), "Policy hook blocked a tool"),
        ),
        ("gemini-cli/out/BeforeTool.rewrite.json", "BeforeTool", grant(Some(ci_gemini))),
        ("gemini-cli/out/SessionStart.context.json", "SessionStart", said(context("Branch: main"), "Context loaded")),
        ("gemini-cli/out/any.halt.json", "AfterTool", halt("Budget exceeded")),
        ("codex/out/PermissionRequest.allow.json", "PermissionRequest", grant(None)),
        ("codex/out/PermissionRequest.deny.json", "PermissionRequest", deny("No network")),
        ("codex/out/PostToolUse.block.json", "PostToolUse", with_context(deny("Lint failed"), "2 errors")),
        ("codex/out/PreCompact.halt.json", "PreCompact", halt("Task in progress")),
        ("codex/out/PreToolUse.context.json", "PreToolUse", context("CI only")),
        ("codex/out/PreToolUse.deny.json", "PreToolUse", deny("Blocked by policy")),
        ("codex/out/PreToolUse.rewrite.json", "PreToolUse", Answer { updated_input: Some(ci), ..Answer::default() }),
        ("codex/out/SessionStart.context.json", "SessionStart", context("Branch: main")),
        ("codex/out/Stop.block.json", "Stop", deny(tests_first)),
        ("codex/out/SubagentStart.context.json", "SubagentStart", context("Use absolute paths")),
        ("codex/out/SubagentStop.block.json", "SubagentStop", deny("Return file:line references")),
        ("codex/out/UserPromptSubmit.block.json", "UserPromptSubmit", deny("Prompt contains a secret")),
        ("codex/out/UserPromptSubmit.context.json", "UserPromptSubmit", context("Today is 2026-09-03")),
        ("devin/out/PreToolUse.block.json", "PreToolUse", deny("Blocked by policy")),
        ("devin/out/Stop.block.json", "Stop", deny(tests_first)),
        ("cline/out/PreToolUse.cancel.json", "PreToolUse", deny("Blocked by policy")),
        ("cline/out/PreToolUse.context.json", "PreToolUse", context("WORKSPACE_RULES: use pnpm")),
        ("cline/out/noop.json", "PreToolUse", Answer::pass()),
        ("kiro/out/stop.block.json", "stop", deny(tests_first)),
        ("factory-droid/out/PostToolUse.block.json", "PostToolUse", with_context(deny("Lint failed"), "2 errors")),
        ("factory-droid/out/PreToolUse.deny.json", "PreToolUse", deny("Blocked by policy")),
        ("factory-droid/out/SessionStart.context.json", "SessionStart", context("Branch: main")),
        ("factory-droid/out/Stop.block.json", "Stop", deny(tests_first)),
    ]
}

/// Samples that say more than a decision does: ours is the same without those keys.
fn less() -> Vec<(&'static str, &'static str, Answer, &'static [&'static str])> {
    let lint = json!({"command": "npm run lint"});
    vec![
        (
            "claude-code/out/PermissionRequest.allow.json",
            "PermissionRequest",
            grant(Some(lint)),
            &["updatedPermissions"],
        ),
        ("claude-code/out/PermissionRequest.deny.json", "PermissionRequest", deny("Not permitted"), &["interrupt"]),
        (
            "claude-code/out/SessionStart.context.json",
            "SessionStart",
            context("Branch: main"),
            &["sessionTitle", "watchPaths", "reloadSkills"],
        ),
        (
            "claude-code/out/UserPromptSubmit.context.json",
            "UserPromptSubmit",
            context("Today is 2026-09-03"),
            &["sessionTitle"],
        ),
        ("copilot-cli/out/permissionRequest.deny.json", "permissionRequest", deny("Not permitted"), &["interrupt"]),
        ("cursor/out/sessionStart.context.json", "sessionStart", context("Branch: main"), &["env"]),
        ("gemini-cli/out/AfterAgent.clear.json", "AfterAgent", deny("Retry"), &["hookSpecificOutput"]),
    ]
}

/// Samples of things no decision of ours can mean.
const NOT_DECISIONS: [&str; 9] = [
    "claude-code/out/Elicitation.accept.json",
    "claude-code/out/PermissionDenied.retry.json",
    "codex/out/INVALID.PreToolUse.bare-allow.json",
    "codex/out/INVALID.Stop.with-hookSpecificOutput.json",
    "copilot-cli/out/preToolUse.progress-then-deny.txt",
    "copilot-cli/out/subagentStop.rewrite.json",
    "copilot-cli/out/userPromptTransformed.rewrite.json",
    "gemini-cli/out/AfterTool.tail-call.json",
    "gemini-cli/out/BeforeToolSelection.restrict.json",
];

fn sample(file: &str) -> Value {
    let text = fs::read_to_string(fixtures().join(file)).expect("a committed sample");
    serde_json::from_str(&text).expect("a sample is JSON")
}

fn host_of(file: &str) -> &str {
    file.split('/').next().expect("a host folder")
}

fn without(value: Value, dropped: &[&str]) -> Value {
    match value {
        Value::Object(object) => object
            .into_iter()
            .filter(|(key, _)| !dropped.contains(&key.as_str()))
            .map(|(key, value)| (key, without(value, dropped)))
            .collect::<serde_json::Map<_, _>>()
            .into(),
        other => other,
    }
}

#[test]
fn replies_equal_the_samples() {
    for (file, event, answer) in exact() {
        let reply = render(host_of(file), event, "{}", &answer);
        assert_eq!(json_of(&reply), sample(file), "{file}");
    }
    for (file, event, answer, dropped) in less() {
        let reply = render(host_of(file), event, "{}", &answer);
        assert_eq!(json_of(&reply), without(sample(file), dropped), "{file}");
    }
}

#[test]
fn every_sample_is_accounted_for() {
    let mut known: Vec<String> = NOT_DECISIONS.iter().map(ToString::to_string).collect();
    known.extend(exact().into_iter().map(|(file, ..)| file.to_owned()));
    known.extend(less().into_iter().map(|(file, ..)| file.to_owned()));
    for host in fs::read_dir(fixtures()).expect("fixtures") {
        let out = host.expect("a folder").path().join("out");
        for file in fs::read_dir(&out).into_iter().flatten() {
            let path = file.expect("a file").path();
            let name = path.strip_prefix(fixtures()).expect("inside").to_string_lossy().replace('\\', "/");
            assert!(known.contains(&name), "{name} is in no table");
        }
    }
}

#[test]
fn hosts_without_json_are_refused_by_exit_code() {
    let blocked = |host, event| render(host, event, "{}", &deny("Blocked by policy"));
    for (host, event) in [
        ("windsurf", "pre_run_command"),
        ("windsurf", "pre_user_prompt"),
        ("kiro", "preToolUse"),
        ("kiro", "PreToolUse"),
        ("kiro", "UserPromptSubmit"),
    ] {
        let reply = blocked(host, event);
        assert_eq!(reply.exit_code, 2, "{host} {event}");
        assert_eq!(reply.stderr, b"Blocked by policy\n", "{host} {event}");
        assert_eq!(reply.stdout, b"", "{host} {event}");
    }
    let goose = blocked("goose", "PreToolUse");
    assert_eq!((goose.exit_code, goose.stderr.as_slice()), (2, b"Blocked by policy\n".as_slice()));
    let wire: Value = serde_json::from_slice(&goose.stdout).expect("JSON beside the exit code");
    assert_eq!(wire, json!({"decision": "block", "reason": "Blocked by policy"}));
    assert_eq!(blocked("windsurf", "post_run_command"), Reply::default());
    assert_eq!(blocked("goose", "Stop").exit_code, 2, "its model is told and goes on");
    assert_eq!(blocked("goose", "PostToolUse"), Reply::plain(b"{}\n"));
}

#[test]
fn what_a_host_cannot_express_is_brought_down() {
    let kiro_context = render("kiro", "agentSpawn", "{}", &context("Branch: main"));
    assert_eq!(kiro_context, Reply::plain(b"Branch: main\n"));
    let kiro_prompt = render("kiro", "userPromptSubmit", "{}", &deny("No secrets"));
    assert_eq!(kiro_prompt, Reply::plain(b"No secrets\n"));

    for (host, event, key) in [
        ("cursor", "postToolUse", "/additional_context"),
        ("copilot-cli", "postToolUse", "/additionalContext"),
        ("copilot-cli", "userPromptSubmitted", "/additionalContext"),
        ("cline", "PostToolUse", "/contextModification"),
        ("opencode", "tool.execute.after", "/context"),
    ] {
        let wire = json_of(&render(host, event, "{}", &deny("Lint failed")));
        assert_eq!(wire.pointer(key), Some(&json!("Lint failed")), "{host} {event}: {wire}");
    }
    for (host, event, pointer) in [
        ("codex", "PreToolUse", "/hookSpecificOutput/permissionDecision"),
        ("cursor", "preToolUse", "/permission"),
        ("crush", "PreToolUse", "/decision"),
        ("opencode", "tool.execute.before", "/decision"),
    ] {
        let wire = json_of(&render(host, event, "{}", &Answer::ask("Sure?")));
        assert_eq!(wire.pointer(pointer), Some(&json!("deny")), "{host}: {wire}");
    }
    let crush = json_of(&render("crush", "PreToolUse", "{}", &halt("Budget exceeded")));
    assert_eq!(crush, json!({"version": 1, "halt": true, "reason": "Budget exceeded"}));
    let interrupted = json_of(&render("copilot-cli", "permissionRequest", "{}", &halt("Enough")));
    assert_eq!(interrupted, json!({"behavior": "deny", "message": "Enough", "interrupt": true}));
    let native = json_of(&render("native", "PreToolUse", "{}", &grant(None)));
    assert_eq!(native, json!({"decision": "allow", "grant": true}));
}

#[test]
fn a_stop_that_a_stop_hook_caused_goes_through() {
    for dialect in dialect::ALL {
        for row in dialect.support().events.iter().filter(|row| row.name.is_stop()) {
            let payload = r#"{"stop_hook_active":true,"loop_count":1}"#;
            let mut answer = deny("Run the tests");
            answer.context.push("and the linter".to_owned());
            let reply = render(dialect.id(), row.host_event, payload, &answer);
            assert_eq!(reply, dialect.go_on(&row.name), "{} {}", dialect.id(), row.host_event);
        }
    }
}

#[test]
fn one_file_that_two_hosts_read_is_answered_in_the_dialect_of_the_one_that_speaks() {
    let camel =
        r#"{"sessionId":"s","timestamp":1788430530123,"cwd":"/x","toolName":"bash","toolArgs":"{\"command\":\"ls\"}"}"#;
    let parsed = dialect::parse(camel.as_bytes(), Some("vscode-copilot"), Some("PreToolUse"), &Hints::default())
        .expect("readable");
    assert_eq!(parsed.dialect.id(), "copilot-cli");
    assert_eq!(parsed.event.tool_input, json!({"command": "ls"}));

    let hints = Hints::collect(|name| (name == "COPILOT_CLI").then(|| "1".to_owned()));
    let pascal = br#"{"hook_event_name":"Stop","session_id":"s"}"#;
    let parsed = dialect::parse(pascal, Some("vscode-copilot"), Some("Stop"), &hints).expect("readable");
    assert_eq!(parsed.dialect.id(), "copilot-cli");
    let parsed = dialect::parse(pascal, Some("claude-code"), Some("Stop"), &hints).expect("readable");
    assert_eq!(parsed.dialect.id(), "claude-code");
}
