//! The ten things that must always be true, each shown against the real process.

use super::s05_ids_and_paths::{ALL_MODULES, looks_like};
use super::workspace::{PipelineWorkspace, SID};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::net::TcpListener;
use std::time::{Duration, Instant};

/// What a deadline may be missed by on a loaded machine.
const MARGIN: Duration = Duration::from_secs(10);

#[test]
fn invariant_01_exactly_one_json_object_on_stdout_per_invocation() {
    let workspace = PipelineWorkspace::with(&["session", "self-guard", "graph-pretooluse", "broken"]);
    workspace.script("broken", "", "throw new Error('x');");
    let call = |command: &str| {
        let more = json!({"tool_name": "Bash", "tool_input": {"command": command}});
        workspace.payload("PreToolUse", &more).to_string().into_bytes()
    };
    let inputs = [call("ls"), call("rm -rf /srv"), call("rm -r .ai/hooks"), b"".to_vec(), b"}{".to_vec(), vec![0; 99]];
    for input in inputs {
        for event in ["PreToolUse", "Stop", "", "Unheard"] {
            let output = workspace.raw(event, &input);
            let mut objects = serde_json::Deserializer::from_str(&output.stdout).into_iter::<Value>();
            assert!(objects.next().is_some_and(|first| first.is_ok_and(|value| value.is_object())), "{output:?}");
            assert!(objects.next().is_none(), "{output:?}");
            assert_eq!((output.status, output.stderr.as_str()), (0, ""), "{output:?}");
        }
    }
}

#[test]
fn invariant_02_no_module_writes_to_stdout_or_stderr() {
    let workspace = PipelineWorkspace::with(&["session", "loud"]);
    workspace.script(
        "loud",
        "",
        "console.log('LEAK'); console.error('LEAK'); ctx.log('error', 'LEAK');
         if (typeof print === 'function') print('LEAK');
         if (typeof process !== 'undefined') process.stdout.write('LEAK');
         throw new Error('LEAK');",
    );
    let more = json!({"tool_name": "Bash", "tool_input": {"command": "ls"}});
    let output = workspace.raw("PreToolUse", workspace.payload("PreToolUse", &more).to_string().as_bytes());
    assert_eq!((output.stdout.as_str(), output.stderr.as_str()), ("{\"decision\":\"allow\"}\n", ""));
    assert!(workspace.text("loud/logs/debug.log").contains("LEAK"), "it went where it belongs");
}

#[test]
fn invariant_03_state_patches_are_idempotent() {
    let workspace = PipelineWorkspace::with(&["session", "patch"]);
    workspace.script("patch", "", "return { statePatch: JSON.parse(ctx.event.toolInput.command) };");
    let patch =
        json!({"core": {"lastTurnId": 4, "phase": "EXECUTING"}, "plan": {"hash": "x"}, "memory": {"a": {"b": 1}}});
    workspace.bash(&patch.to_string());
    let once = workspace.state();
    workspace.bash(&patch.to_string());
    assert_eq!(workspace.state(), once, "twice is once");
    workspace
        .bash(&json!({"memory": {"list": [1, 2]}, "core": {"lastTurnId": "many"}, "rlm": {"kept": "yes"}}).to_string());
    let state = workspace.state();
    assert_eq!((&state["memory"]["list"], &state["core"]["lastTurnId"]), (&Value::Null, &json!(4)), "no lists");
    assert_eq!(state["rlm"]["kept"], "yes", "what is right with a patch counts");
    let told: Vec<String> =
        workspace.of_type("WARNING").iter().map(|record| record["data"]["message"].to_string()).collect();
    assert!(told.iter().any(|text| text.contains("memory.list")), "{told:?}");
}

#[test]
fn invariant_04_the_event_log_is_append_only() {
    let workspace = PipelineWorkspace::with(&ALL_MODULES);
    workspace.whole_session();
    let before = workspace.text("events.jsonl");
    workspace.whole_session();
    assert_eq!(workspace.context.dispatch(&["state", "rebuild"]).status, 0);
    assert_eq!(workspace.context.dispatch(&["phase", "set", "EXECUTING", "--reason", "x"]).status, 0);
    assert!(workspace.text("events.jsonl").starts_with(&before), "nothing was edited or cut off");
}

#[test]
fn invariant_04_a_log_that_is_damaged_is_added_to_and_not_repaired_away() {
    let workspace = PipelineWorkspace::with(&["session"]);
    let damage = "not json\n{\"torn\": ";
    workspace.context.write(format!(".ai/tmp/{SID}/events.jsonl"), damage);
    workspace.bash("ls");
    let log = workspace.text("events.jsonl");
    assert!(log.starts_with(damage), "{log}");
    let last = log.lines().last().unwrap();
    assert_eq!(serde_json::from_str::<Value>(last).unwrap()["type"], "HOOK_RUN");
}

#[test]
fn invariant_05_the_pre_tool_use_budget_is_hard() {
    let workspace =
        PipelineWorkspace::ruled_by(&json!({"modules": ["session", "spender"], "budgets": {"PreToolUse": 400}}));
    workspace.script("spender", "", "for (;;) {}");
    let started = Instant::now();
    assert_eq!(workspace.decision("ls"), "allow");
    assert!(started.elapsed() < MARGIN, "{:?}", started.elapsed());
    let guarded = PipelineWorkspace::ruled_by(
        &json!({"modules": ["graph-pretooluse", "spender"], "budgets": {"PreToolUse": 60_000}}),
    );
    guarded.script("spender", "", "for (;;) {}");
    let started = Instant::now();
    assert_eq!(guarded.decision("rm -rf /srv/data"), "deny", "a critical deny is not taken back");
    assert!(started.elapsed() < Duration::from_secs(50), "and nothing runs after it");
}

#[test]
fn invariant_06_one_rewrite_owner_per_channel() {
    let workspace =
        PipelineWorkspace::ruled_by(&json!({"modules": ["session", "owner", "other"], "rewriteOwner": "owner"}));
    workspace.configure(&json!({"session": {"stampInput": true}}));
    workspace.script(
        "other",
        "priority: 10,",
        "return { updatedInput: {command: 'ls other'}, inputMetadata: {_hookX: 1} };",
    );
    workspace.script(
        "owner",
        "priority: 20,",
        "return { updatedInput: {command: 'ls owner'}, inputMetadata: {_hookY: 1} };",
    );
    let input = workspace.bash("ls")["updatedInput"].clone();
    assert_eq!(input["command"], "ls owner");
    assert_eq!(
        (&input["_hookX"], &input["_hookY"], &input["_hookSessionId"]),
        (&Value::Null, &Value::Null, &json!(SID))
    );
}

#[test]
fn invariant_07_a_failing_module_that_is_not_critical_blocks_nothing() {
    let bodies = ["throw new Error('x');", "return 7;", "for (;;) {}", "return new Promise(() => {});", "syntax error"];
    for body in bodies {
        let workspace =
            PipelineWorkspace::ruled_by(&json!({"modules": ["session", "broken"], "budgets": {"PreToolUse": 2_000}}));
        workspace.context.write(
            ".ai/hooks/features/broken/hook.mjs",
            format!("export default {{ supports: ['PreToolUse'], hotPathSafe: true, handle() {{ {body} }} }};"),
        );
        let _ = workspace.context.dispatch(&["trust", "--all"]);
        assert_eq!(workspace.decision("ls"), "allow", "{body}");
        let told = workspace.of_type("ERROR_MODULE").len() + workspace.of_type("WARNING").len();
        assert_eq!(told, 1, "{body}: it is on record");
    }
}

#[test]
fn invariant_08_neo4j_is_never_checked_before_a_tool_call() {
    let server = TcpListener::bind("127.0.0.1:0").expect("a port");
    server.set_nonblocking(true).unwrap();
    let port = server.local_addr().unwrap().port();
    let workspace = PipelineWorkspace::with(&["session", "graph-pretooluse", "mirror"]);
    workspace.configure(&json!({"neo4j": {"url": format!("bolt://127.0.0.1:{port}")}}));
    workspace.script("mirror", "", "return { emitEvents: [{type: 'SEEN', data: ctx.cap.neo4j}] };");
    let started = Instant::now();
    for _ in 0..5 {
        assert_eq!(workspace.decision("ls"), "allow");
    }
    assert!(started.elapsed() < MARGIN, "nobody waited for an answer: {:?}", started.elapsed());
    assert!(server.accept().is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock), "nothing connected");
    assert_eq!(workspace.of_type("SEEN")[0]["data"]["reachable"], false);
    workspace.fire("SessionStart", &json!({"source": "startup"}));
    assert!(server.accept().is_ok(), "the same configuration is asked about elsewhere");
}

#[test]
fn invariant_09_ids_are_short() {
    let workspace = PipelineWorkspace::with(&ALL_MODULES);
    workspace.whole_session();
    let long = "a very long name of a session or an agent / ".repeat(40);
    let more = json!({"session_id": long, "agent_id": long, "agent_type": long});
    workspace.fire("SubagentStart", &more);
    let mut records = workspace.records();
    for session in std::fs::read_dir(workspace.context.project().join(".ai/tmp")).unwrap().flatten() {
        let log = std::fs::read_to_string(session.path().join("events.jsonl")).unwrap_or_default();
        records.extend(log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()));
    }
    assert!(records.len() > 16);
    for record in records {
        assert!(looks_like(&record["sessionId"], "ffffffff"), "{record}");
        assert!(looks_like(&record["workId"], "w999"), "{record}");
        assert!(looks_like(&record["agentId"], "u99") || looks_like(&record["agentId"], "a99"), "{record}");
    }
}

#[test]
fn invariant_10_everything_is_below_the_session_root() {
    let workspace = PipelineWorkspace::with(&[&ALL_MODULES[..], &["escaper"]].concat());
    let escapes = ["../../../out.txt", "/tmp/dispatch-escape.txt", "a/../../b", "..", "C:\\x", "a\0b", ""];
    let files: Vec<Value> = escapes.iter().map(|path| json!({"path": path, "content": "no"})).collect();
    workspace.script("escaper", "", &format!("return {{ files: {} }};", json!(files)));
    let before = workspace.files(".");
    workspace.whole_session();
    let climbing = json!({"session_id": "../../../x", "agent_id": "../../y", "agent_type": "../../z", "prompt": "p"});
    for event in ["SubagentStart", "SubagentStop", "UserPromptSubmit"] {
        workspace.fire(event, &climbing);
    }
    let sessions: BTreeSet<String> = workspace.files(".").difference(&before).cloned().collect();
    for file in &sessions {
        let inside = file.strip_prefix(".ai/tmp/").and_then(|rest| rest.split_once('/'));
        let short = inside.is_some_and(|(sid, _)| looks_like(&json!(sid), "ffffffff"));
        assert!(short || file == ".ai/tmp/dispatch.log", "{file}");
    }
    assert!(!std::path::Path::new("/tmp/dispatch-escape.txt").exists());
}
