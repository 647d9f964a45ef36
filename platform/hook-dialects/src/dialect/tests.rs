//! Payloads that hosts are known to send besides the ordinary ones.

use serde_json::{Value, json};

use super::*;

fn read(host: Option<&str>, event: Option<&str>, payload: &Value) -> Parsed {
    parse(payload.to_string().as_bytes(), host, event, &Hints::default()).expect("readable")
}

fn hints(pairs: &'static [(&'static str, &'static str)]) -> Hints {
    Hints::collect(|name| {
        let found = pairs.iter().find(|(known, _)| *known == name)?;
        Some(found.1.to_owned())
    })
}

#[test]
fn ids_and_aliases_are_unique_and_found() {
    let mut seen = Vec::new();
    for dialect in ALL {
        for name in dialect.support().aliases.iter().chain([&dialect.id()]) {
            assert_eq!(by_name(name), Some(dialect));
            assert!(!seen.contains(name), "{name}");
            seen.push(*name);
        }
    }
    assert_eq!(by_name("copilot-cli-pascal").map(Dialect::id), Some("copilot-cli"));
    assert_eq!(by_name("emacs"), None);
}

#[test]
fn each_host_spells_an_event_once() {
    for dialect in ALL {
        let events = dialect.support().events;
        for (index, row) in events.iter().enumerate() {
            let twin = events[..index].iter().find(|other| other.host_event == row.host_event);
            assert!(twin.is_none(), "{} {}", dialect.id(), row.host_event);
        }
    }
}

#[test]
fn the_environment_tells_hosts_apart_unless_the_payload_does() {
    let bare = json!({"hook_event_name": "UserPromptSubmit", "session_id": "s", "cwd": "/x", "prompt": "p"});
    for (pairs, host) in [
        (&[("CURSOR_VERSION", "3"), ("CLAUDE_PROJECT_DIR", "/x")][..], "cursor"),
        (&[("GEMINI_SESSION_ID", "g")], "gemini-cli"),
        (&[("FACTORY_PROJECT_DIR", "/x")], "factory-droid"),
        (&[("DEVIN_PROJECT_DIR", "/x")], "devin"),
        (&[("CRUSH", "1")], "crush"),
        (&[("COPILOT_CLI", "1")], "copilot-cli"),
    ] {
        let found = detect(&bare, None, &hints(pairs));
        assert_eq!(found.map(Dialect::id), Some(host));
        let windsurf = json!({"agent_action_name": "pre_run_command"});
        assert_eq!(detect(&windsurf, None, &hints(pairs)).map(Dialect::id), Some("windsurf"));
        let unreadable = parse(b"garbage", None, Some("Stop"), &hints(pairs)).expect_err("no JSON");
        assert_eq!(unreadable.dialect.id(), host);
    }
    assert_eq!(detect(&json!({"x": 1}), None, &Hints::default()), None);
    assert_eq!(detect(&json!([]), None, &Hints::default()), None);
}

#[test]
fn hand_written_and_older_payloads_find_their_host() {
    for (payload, host) in [
        (json!({"hookEventName": "Stop", "sessionId": "s", "timestamp": "2026-01-01T00:00:00Z"}), "vscode-copilot"),
        (
            json!({"hookEventName": "PreToolUse", "sessionId": "s", "toolName": "Edit", "transcriptPath": "/h/.factory/x"}),
            "factory-droid",
        ),
        (json!({"hookEventName": "Stop", "sessionId": "s"}), "factory-droid"),
        (
            json!({"hook_event_name": "PreToolUse", "session_id": "s", "cwd": "/x", "tool_name": "Bash", "tool_input": {}}),
            "claude-code",
        ),
        (
            json!({"hook_event_name": "PreToolUse", "session_id": "s", "cwd": "/x", "tool_name": "read_file", "tool_input": {}}),
            "vscode-copilot",
        ),
        (json!({"hook_event_name": "SessionEnd", "session_id": "s", "transcript_path": null, "cwd": "/x"}), "codex"),
        (json!({"timestamp": 1.5e12, "cwd": "/x", "toolName": "bash", "toolArgs": "{}"}), "copilot-cli"),
        (
            json!({"hook_event_name": "UserPromptSubmit", "session_id": "s", "timestamp": "2026", "cwd": "/x", "prompt": "p"}),
            "copilot-cli",
        ),
        (
            json!({"hook_event_name": "Stop", "session_id": "s", "cwd": "C:\\x", "transcript_path": "C:\\Users\\d\\.claude\\p\\x.jsonl"}),
            "claude-code",
        ),
        (
            json!({"hook_event_name": "MessageDisplay", "turn_id": "t", "message_id": "m", "session_id": "s", "cwd": "/x", "transcript_path": "/t"}),
            "claude-code",
        ),
    ] {
        let found = detect(&payload, None, &Hints::default());
        assert_eq!(found.map(Dialect::id), Some(host), "{payload}");
    }
}

#[test]
fn the_directory_falls_back_step_by_step() {
    let at = |payload: Value, hints: &Hints| {
        let parsed = parse(payload.to_string().as_bytes(), Some("cursor"), Some("stop"), hints);
        parsed.expect("readable").event.cwd
    };
    let outside = hints(&[("CURSOR_PROJECT_DIR", "/from/variable")]).with_process_cwd("/from/process");
    let process = Hints::default().with_process_cwd("/from/process");
    let roots = json!({"cwd": "", "workspace_roots": ["/c:/shop", "/other"]});
    assert_eq!(at(json!({"cwd": "/a", "workspace_roots": ["/b"]}), &outside).as_deref(), Some("/a"));
    assert_eq!(at(roots, &outside).as_deref(), Some("c:/shop"));
    assert_eq!(at(json!({"cwd": null, "working_dir": "/w"}), &outside).as_deref(), Some("/w"));
    assert_eq!(at(json!({"cwd": 7, "workspace_roots": "x"}), &Hints::default()).as_deref(), Some("7"));
    assert_eq!(at(json!({}), &outside).as_deref(), Some("/from/variable"));
    assert_eq!(at(json!({}), &process).as_deref(), Some("/from/process"));
    assert_eq!(at(json!({}), &Hints::default()), None);
}

#[test]
fn wrong_types_cost_only_their_own_field() {
    let payload = json!({
        "hook_event_name": ["PreToolUse"], "session_id": 42, "cwd": {}, "tool_name": "Bash",
        "tool_input": "{\"command\":\"ls\"}", "tool_use_id": null, "stop_hook_active": "true",
        "transcript_path": [], "permission_mode": 3
    });
    let event = read(Some("claude-code"), Some("PreToolUse"), &payload).event;
    assert_eq!(event.name, EventName::PreToolUse);
    assert_eq!(event.session_id.as_deref(), Some("42"));
    assert_eq!(event.tool_input, json!({"command": "ls"}));
    assert!(event.stop_hook_active && event.cwd.is_none() && event.transcript_path.is_none());
    let patch = json!({"tool_name": "Edit", "tool_input": "*** Begin Patch\n*** Update File: a.ts\n"});
    let event = read(Some("copilot-cli"), Some("PreToolUse"), &patch).event;
    assert_eq!(event.tool_input, patch["tool_input"]);
}

#[test]
fn the_argument_decides_the_event_and_the_payload_makes_it_precise() {
    let check = |host, argument, named: &str, expected: (&str, &str)| {
        let payload = json!({"hook_event_name": named});
        let event = read(Some(host), argument, &payload).event;
        assert_eq!((event.name.as_str(), event.host_event.as_str()), expected);
    };
    check("cursor", Some("PreToolUse"), "beforeShellExecution", ("PreToolUse", "beforeShellExecution"));
    check("gemini-cli", Some("PreToolUse"), "BeforeTool", ("PreToolUse", "BeforeTool"));
    check("claude-code", Some("PreToolUse"), "preToolUse", ("PreToolUse", "PreToolUse"));
    check("claude-code", Some("Stop"), "PreToolUse", ("Stop", "Stop"));
    check("claude-code", Some("nonsense"), "PreToolUse", ("PreToolUse", "PreToolUse"));
    check("claude-code", None, "BrandNew", ("BrandNew", "BrandNew"));
    check("claude-code", None, "", ("", ""));
    check("kiro", Some("UserPromptSubmit"), "userPromptSubmit", ("UserPromptSubmit", "UserPromptSubmit"));
    check("gemini-cli", Some("SubagentStop"), "", ("SubagentStop", "SubagentStop"));
}

#[test]
fn cline_variants() {
    let failed = json!({"clineVersion": "3", "hookName": "PostToolUse", "taskId": "t",
        "postToolUse": {"toolName": "execute_command", "parameters": {"command": "npm test"}, "executionTimeMs": "7"}});
    let event = read(None, None, &failed).event;
    assert_eq!(event.tool_response, json!({"result": null, "success": false}));
    let sdk = json!({"clineVersion": "3", "hookName": "tool_call", "taskId": "t",
        "tool_call": {"id": "tc-1", "name": "run_commands", "input": {"commands": ["npm test"]}}});
    let parsed = read(None, Some("PreToolUse"), &sdk);
    assert_eq!(parsed.event.tool_use_id.as_deref(), Some("tc-1"));
    assert_eq!(parsed.event.host_event, "tool_call");
    let asked = parsed.dialect.render(&parsed.event, &Answer::ask("Sure?"));
    let told = String::from_utf8_lossy(&asked.stdout);
    assert!(!told.contains("review") && told.contains("Sure?"), "a review would be approved by itself: {told}");
    let mcp = json!({"hookName": "PreToolUse", "taskId": "t",
        "preToolUse": {"toolName": "use_mcp_tool", "parameters": {"server_name": "docs", "tool_name": "search"}}});
    assert_eq!(read(None, None, &mcp).event.mcp_server.as_deref(), Some("docs"));
}

#[test]
fn goose_names_what_its_narrow_events_are_about() {
    let shell = json!({"event": "BeforeShellExecution", "session_id": "s", "matcher_context": "npm test"});
    let event = read(None, None, &shell).event;
    assert_eq!(event.tool_name.as_deref(), Some("shell"));
    assert_eq!(event.tool_input, json!({"command": "npm test"}));
    let edited =
        json!({"event": "AfterFileEdit", "session_id": "s", "matcher_context": "/x/a.ts", "working_dir": "/x"});
    let event = read(None, None, &edited).event;
    assert_eq!((event.name, event.cwd.as_deref()), (EventName::PostToolUse, Some("/x")));
}

#[test]
fn kiro_without_standard_input_reads_its_variable() {
    let told = hints(&[("USER_PROMPT", r#"{"toolName":"fs_write","toolArgs":{"path":"a.ts"}}"#)]);
    let event = parse(b"", Some("kiro"), None, &told).expect("from the variable").event;
    assert_eq!((event.name, event.tool_name.as_deref()), (EventName::PreToolUse, Some("fs_write")));
    let typed = hints(&[("USER_PROMPT", "Add validation")]);
    let event = parse(b"", Some("kiro"), Some("promptSubmit"), &typed).expect("from the variable").event;
    assert_eq!(event.prompt.as_deref(), Some("Add validation"));
    assert!(parse(b"", Some("cursor"), None, &typed).is_err());
}

#[test]
fn codex_notifications_are_read_as_a_stop() {
    let payload = json!({"type": "agent-turn-complete", "thread-id": "t-1", "turn-id": "u", "cwd": "/x",
        "input-messages": ["Add validation"], "last-assistant-message": "Done."});
    let event = read(None, None, &payload).event;
    assert_eq!((event.host, event.name), ("codex", EventName::Stop));
    assert_eq!(event.session_id.as_deref(), Some("t-1"));
    assert_eq!(event.last_message.as_deref(), Some("Done."));
}

#[test]
fn windsurf_with_raw_control_characters() {
    let bytes =
        b"{\"agent_action_name\":\"pre_run_command\",\"tool_info\":{\"command_line\":\"echo a\n\tb\",\"cwd\":\"/x\"}}";
    let event = parse(bytes, None, None, &Hints::default()).expect("repaired").event;
    assert_eq!(event.tool_input["command_line"], "echo a\n\tb");
}

#[test]
fn a_failure_still_knows_how_to_go_on() {
    let reply = |host, event| parse(b"{", host, event, &Hints::default()).expect_err("no JSON").reply();
    assert_eq!(reply(Some("cursor"), Some("beforeSubmitPrompt")), Reply::plain(b"{\"continue\":true}\n"));
    assert_eq!(reply(Some("cline"), None), Reply::plain(b"{\"cancel\":false}\n"));
    assert_eq!(reply(Some("kiro"), Some("preToolUse")), Reply::default());
    assert_eq!(reply(Some("claude-code"), Some("WorktreeCreate")), Reply::default());
    assert_eq!(reply(None, Some("PreToolUse")), Reply::plain(b"{\"decision\":\"allow\"}\n"));
}

#[test]
fn the_page_of_hosts_lists_every_event() {
    let page = hosts_markdown();
    for dialect in ALL {
        assert!(page.contains(&format!("(`{}`)", dialect.id())));
        for row in dialect.support().events {
            assert!(page.contains(&format!("\n| {} |", row.host_event)));
        }
    }
}
