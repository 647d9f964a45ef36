//! Section 3: what is read, what is written, and what is written when everything fails.

use super::workspace::{PipelineWorkspace, SID};
use dispatch_kernel::services::schema::check;
use serde_json::{Value, json};
use std::process::Stdio;

#[test]
fn s03_1_the_event_is_the_first_argument() {
    let workspace = PipelineWorkspace::with(&["session"]);
    let payload = workspace.payload("PostToolUse", &json!({"tool_name": "Bash", "tool_input": {"command": "ls"}}));
    workspace.raw("PreToolUse", payload.to_string().as_bytes());
    assert_eq!(workspace.last_run()["event"], "PreToolUse", "the argument decides, not the payload");
}

#[test]
fn s03_1_the_payload_is_one_json_object_on_standard_input() {
    let workspace = PipelineWorkspace::with(&["session"]);
    workspace.call("Write", &json!({"file_path": "a.txt", "content": "x"}));
    let call = workspace.of_type("TOOL_CALL").pop().unwrap();
    assert_eq!((&call["data"]["tool"], &call["data"]["kind"]), (&json!("Write"), &json!("write")));
    assert_eq!(call["sessionId"], SID);
}

#[test]
fn s03_1_environment_variables_are_optional() {
    let workspace = PipelineWorkspace::with(&["session"]);
    let payload = workspace.payload("Stop", &json!({})).to_string();
    let bare = workspace.raw("Stop", payload.as_bytes());
    let variables = [("COPILOT_AGENT_ID", "x"), ("COPILOT_SESSION_ID", "\u{1}")];
    let told = workspace.context.run("dispatch-hook", &["Stop", "--host", "native"], payload.as_bytes(), &variables);
    assert_eq!(bare, told);
}

#[test]
fn s03_2_exactly_one_json_object_for_every_event() {
    let workspace = PipelineWorkspace::with(&["session", "graph-pretooluse"]);
    for event in
        ["SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PreCompact", "Stop", "SubagentStop", "Odd"]
    {
        let payload =
            workspace.payload(event, &json!({"prompt": "p", "tool_name": "Bash", "tool_input": {"command": "ls"}}));
        let output = workspace.raw(event, payload.to_string().as_bytes());
        assert!(output.json().is_object(), "{event}: {output:?}");
        assert_eq!(output.stdout.matches('\n').count(), 1, "{event}: one line");
        assert_eq!((output.status, output.stderr.as_str()), (0, ""), "{event}");
    }
}

#[test]
fn s03_2_the_output_fits_its_schema() {
    let workspace = PipelineWorkspace::with(&["session", "self-guard", "graph-pretooluse"]);
    let schema = workspace.context.dispatch(&["schema", "hook-output"]).json();
    let answers = [
        workspace.fire("SessionStart", &json!({"source": "startup"})),
        workspace.bash("ls"),
        workspace.bash("rm -rf /srv/data"),
        workspace.call("Write", &json!({"file_path": ".ai/hooks/config.json", "content": "{}"})),
        workspace.fire("Stop", &json!({})),
    ];
    for answer in &answers {
        assert_eq!(check(&schema, answer), [], "{answer}");
    }
    let decisions: Vec<&Value> = answers.iter().map(|answer| &answer["decision"]).collect();
    assert_eq!(decisions, ["allow", "allow", "deny", "ask", "allow"]);
}

#[test]
fn s03_2_diagnostics_go_to_the_trace_the_modules_log_and_the_records() {
    let workspace = PipelineWorkspace::with(&["session", "talker"]);
    workspace.script(
        "talker",
        "",
        "ctx.log('warn', 'a word', {n: 7}); console.log('another'); return { warnings: ['mind'] };",
    );
    let answer = workspace.bash("ls");
    assert_eq!(answer, json!({"decision": "allow"}), "nothing of it reaches the host");
    let trace = std::fs::read_to_string(workspace.context.project().join(".ai/tmp/dispatch.log")).unwrap();
    let run = workspace.last_run();
    assert!(trace.lines().last().unwrap().contains(run["hookRunId"].as_str().unwrap()), "{trace}");
    let log = workspace.text("talker/logs/debug.log");
    assert!(log.contains("warn a word") && log.contains('7') && log.contains("another"), "{log}");
    assert_eq!(workspace.of_type("WARNING")[0]["data"]["message"], "mind");
}

#[test]
fn s03_3_what_cannot_be_read_is_answered_with_allow() {
    let workspace = PipelineWorkspace::with(&["session", "graph-pretooluse"]);
    for stdin in [&b""[..], b"null", b"{\"tool", b"\xff\xfe", b"[1]", b"{}{}"] {
        let output = workspace.raw("PreToolUse", stdin);
        assert_eq!(
            (output.status, output.stdout.as_str(), output.stderr.as_str()),
            (0, "{\"decision\":\"allow\"}\n", "")
        );
    }
}

#[test]
fn s03_3_a_host_that_never_finishes_its_payload_is_answered_and_its_call_does_not_pass() {
    let workspace = PipelineWorkspace::with(&["session"]);
    let late = "PL04: The call was not judged: the payload did not arrive in time. Try it again.";
    for (event, answer) in [
        ("PreToolUse", json!({ "decision": "deny", "denyReason": late })),
        ("PostToolUse", json!({"decision": "allow"})),
    ] {
        let mut child = workspace
            .context
            .command("dispatch-hook")
            .args([event, "--host", "native"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the hook starts");
        let open = child.stdin.take().expect("its input");
        let output = child.wait_with_output().unwrap();
        drop(open);
        assert_eq!(serde_json::from_slice::<Value>(&output.stdout).unwrap(), answer, "{event}");
        assert!(output.stderr.is_empty() && output.status.success(), "{output:?}");
    }
}
