//! The MCP server, asked by the Python SDK of the protocol's own project and by hand, and its registration with hosts.

use crate::installed::python;
use crate::intents_host::{Host, workspace};
use dispatch_support::{Output, TestContext};
use serde_json::{Value, json};
use std::process::Command;

/// The client that is not ours, at one version.
const CLIENT: &str = "mcp==2.3.0";
const SCRIPT: &str = include_str!("mcp_client.py");

/// Calls tools of `dispatch mcp` through the client, which prints one JSON line per answer.
fn ask(context: &TestContext, calls: &Value) -> Vec<Value> {
    let server = context.command("dispatch");
    let output = Command::new(python("mcp-client", CLIENT))
        .args(["-c", SCRIPT])
        .arg(server.get_program())
        .arg(context.project())
        .arg(context.home())
        .arg(calls.to_string())
        .output()
        .expect("the client runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("text");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

#[test]
fn a_client_that_is_not_ours_lists_and_calls_every_tool() {
    let context = workspace(&["session", "intents", "planGraph-exec"]);
    let host = Host::claude(&context, "one");
    assert!(host.write("1", "src/hooks/a.ts", "x").is_some());
    let plan = json!({"version": 1, "nodes": [
        {"id": "n1", "title": "First", "scope": ["src/**"], "dependsOn": [], "validations": ["true"]},
        {"id": "n2", "title": "Second", "scope": ["src/**"], "dependsOn": ["n1"], "validations": ["echo broken; false"]},
    ]});
    let answers = ask(
        &context,
        &json!([
            ["list_intents", {}],
            ["select_active_intent", {"intent_id": "INT-001"}],
            ["select_active_intent", {"intent_id": "INT-003"}],
            ["select_active_intent", {"intent_id": "../x"}],
            ["intent_status", {}],
            ["intent_status", {"intent_id": "INT-002"}],
            ["plan_submit", {"plan": plan}],
            ["plan_submit", {"plan": {"nodes": 1}}],
            ["plan_node_start", {"node_id": "n2"}],
            ["plan_node_start", {"node_id": "n1"}],
            ["plan_node_complete", {"node_id": "n1", "result": "done"}],
            ["plan_node_start", {"node_id": "n2"}],
            ["plan_node_complete", {"node_id": "n2"}],
        ]),
    );
    let tools: Vec<&str> = answers[0]["tools"].as_array().expect("tools").iter().filter_map(Value::as_str).collect();
    assert_eq!(
        tools,
        [
            "select_active_intent",
            "list_intents",
            "intent_status",
            "plan_submit",
            "plan_node_start",
            "plan_node_complete"
        ]
    );
    let expected = [
        (false, "INT-002"),
        (false, "# Active intent INT-001: Hooks"),
        (true, "INT-003 is COMPLETED"),
        (true, "open intents: INT-001 (Hooks), INT-002 (Weather)"),
        (false, "\"active_intent\""),
        (false, "\"owned_scope\""),
        (false, "with 2 nodes"),
        (true, "not a valid plan"),
        (true, "n1"),
        (false, "n1 started"),
        (false, "n1 is completed"),
        (false, "n2 started"),
        (true, "broken"),
    ];
    assert_eq!(answers.len(), expected.len() + 1);
    for (answer, (failed, part)) in answers[1..].iter().zip(expected) {
        let text = answer["text"].as_str().unwrap_or_default();
        assert!(answer["error"] == failed && text.contains(part), "{part}: {answer}");
    }
    assert!(!answers[1]["text"].to_string().contains("INT-003"), "closed ones are not listed");
}

fn speak(context: &TestContext, lines: &[&str]) -> Output {
    context.run("dispatch", &["mcp"], (lines.join("\n") + "\n").as_bytes(), &[])
}

#[test]
fn only_the_protocol_is_on_stdout_and_the_server_ends_with_its_input() {
    let context = workspace(&["session", "intents"]);
    let hello = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;
    let ready = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    let huge = format!("{{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"{}\"}}", "x".repeat(5 * 1024 * 1024));
    let unknown = r#"{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"rm","arguments":{}}}"#;
    let extra =
        r#"{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"list_intents","arguments":{"x":1}}}"#;
    let ping = r#"{"jsonrpc":"2.0","id":10,"method":"ping"}"#;
    let output = speak(&context, &[hello, ready, "{not json", &huge, unknown, extra, ping]);
    assert_eq!(output.status, 0, "{}", output.stderr);
    let lines: Vec<Value> = output.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert!(lines.iter().all(|line| line["jsonrpc"] == "2.0"), "{lines:?}");
    let answer = |id: u64| lines.iter().find(|line| line["id"] == id);
    assert_eq!(answer(1).map(|line| &line["result"]["serverInfo"]["name"]), Some(&json!("dispatch")));
    assert_eq!(answer(8).map(|line| line["error"].is_object()), Some(true), "{lines:?}");
    assert_eq!(answer(9).map(|line| line["result"]["isError"].clone()), Some(json!(true)), "{lines:?}");
    for nothing in ["", "\n\n", "garbage\n"] {
        let output = context.run("dispatch", &["mcp"], nothing.as_bytes(), &[]);
        assert_eq!((output.status, output.stdout.as_str()), (0, ""), "{nothing:?}: {}", output.stderr);
    }
}

#[test]
fn init_registers_the_server_with_every_host_and_takes_it_back() {
    let context = TestContext::new();
    let codex = "# mine\nmodel = \"x\"\n";
    context.write(".codex/config.toml", codex);
    context.write(".mcp.json", "{\n  \"mcpServers\": {\n    \"x\": {\n      \"command\": \"y\"\n    }\n  }\n}\n");
    let run = |arguments: &[&str], status: i32| {
        let output = context.dispatch(arguments);
        assert_eq!(output.status, status, "{arguments:?}: {output:?}");
        output.stdout
    };
    assert!(run(&["init", "--all", "--intents", "--check"], 1).contains(".vscode/mcp.json"));
    let told = run(&["init", "--all", "--intents"], 0);
    assert!(told.contains("skipped") && told.contains("mcp_config.json"), "{told}");
    let read = |path: &str| std::fs::read_to_string(context.project().join(path)).unwrap_or_default();
    for (path, pointer) in [
        (".mcp.json", "/mcpServers/dispatch/args/0"),
        (".vscode/mcp.json", "/servers/dispatch/args/0"),
        (".github/mcp.json", "/mcpServers/dispatch/args/0"),
        (".cursor/mcp.json", "/mcpServers/dispatch/args/0"),
        (".gemini/settings.json", "/mcpServers/dispatch/args/0"),
        (".devin/config.json", "/mcpServers/dispatch/args/0"),
        (".kiro/settings/mcp.json", "/mcpServers/dispatch/args/0"),
        (".factory/mcp.json", "/mcpServers/dispatch/args/0"),
        (".agents/plugins/dispatch/.mcp.json", "/mcpServers/dispatch/args/0"),
        ("crush.json", "/mcp/dispatch/args/0"),
        ("opencode.json", "/mcp/dispatch/command/1"),
    ] {
        let value: Value = serde_json::from_str(&read(path)).unwrap_or_default();
        assert_eq!(value.pointer(pointer), Some(&json!("mcp")), "{path}: {value}");
    }
    assert!(
        read(".codex/config.toml").starts_with("# mine\n")
            && read(".codex/config.toml").contains("[mcp_servers.dispatch]")
    );
    assert!(read(".mcp.json").contains("\"y\""));
    assert!(read(".orchestration/active_intents.yaml").contains("active_intents: []"));
    run(&["init", "--all", "--intents", "--check"], 0);
    run(&["intent", "check"], 0);
    run(&["init", "--undo"], 0);
    assert_eq!(read(".codex/config.toml"), codex);
    assert!(read(".mcp.json").contains("\"y\"") && !read(".mcp.json").contains("dispatch"));
    assert!(!context.project().join(".vscode").exists() && !context.project().join(".orchestration").exists());
}

#[test]
fn plan_tools_take_the_calling_session_and_else_the_named_one() {
    let context = workspace(&["session", "intents", "planGraph-exec"]);
    for session in ["one", "two"] {
        Host::claude(&context, session).select("INT-001");
    }
    let plan = json!({"version": 1, "nodes": [{"id": "n1", "title": "First", "scope": ["src/**"], "dependsOn": []}]});
    let submit = json!(["plan_submit", {"plan": plan}]);
    let named = json!(["plan_submit", {"plan": plan, "session": "two"}]);
    let wrong = json!(["select_active_intent", {"intent": "INT-001"}]);
    let answers = ask(&context, &json!([submit, named, wrong]));
    let text = |number: usize| answers[number]["text"].as_str().unwrap_or_default().to_owned();
    for part in ["2 sessions are active here", "argument `session`"] {
        assert!(answers[1]["error"] == true && text(1).contains(part), "{}", text(1));
    }
    for session in ["one", "two"] {
        assert!(text(1).contains(&crate::intents_host::session_folder(session)), "{}", text(1));
    }
    assert!(answers[2]["error"] == false && text(2).contains("1 node"), "{}", text(2));
    assert!(answers[3]["error"] == true && text(3).contains("INT-001 (Hooks)"), "{}", text(3));
    // The hook of the calling session reports the call before the server gets it.
    let call =
        json!({"tool_name": "mcp__dispatch__plan_node_start", "tool_use_id": "p", "tool_input": {"node_id": "n1"}});
    Host::claude(&context, "two").fire("PreToolUse", &call);
    let answers = ask(&context, &json!([["plan_node_start", {"node_id": "n1"}]]));
    assert!(answers[1]["error"] == false, "{answers:?}");
}
