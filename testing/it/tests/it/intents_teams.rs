//! Intents for teams: every host can bind, copies without secrets, archives, and what a pull request shows.

use crate::intents_host::{Host, commit_all, entries, orchestration, session_folder, shell, workspace};
use crate::run_workspace::RunWorkspace;
use dispatch_support::{Recorded, Reply, ScriptedModel, TestContext};
use serde_json::{Value, json};
use std::fs;

const MODULES: [&str; 2] = ["session", "intents"];

fn repository() -> TestContext {
    let context = workspace(&MODULES);
    context.write("src/web/page.ts", "one\ntwo\n");
    context.write("src/hooks/a.ts", "a\n");
    commit_all(&context);
    context
}

fn cline(context: &TestContext, hook: &str, event: &str, call: &Value) -> Value {
    let payload = json!({"clineVersion": "3.0.0", "hookName": hook, "taskId": "task-1",
        "workspaceRoots": [context.project()], event: call});
    let output = context.run("dispatch-hook", &[hook, "--host", "cline"], payload.to_string().as_bytes(), &[]);
    output.json()
}

#[test]
fn cline_binds_an_intent_through_its_tool_for_servers() {
    let context = repository();
    let write = json!({"toolName": "write_to_file",
        "parameters": {"path": context.project().join("src/hooks/a.ts"), "content": "x"}});
    assert_eq!(cline(&context, "PreToolUse", "preToolUse", &write)["cancel"], true);
    let mut select = json!({"toolName": "use_mcp_tool", "parameters": {"server_name": "dispatch",
        "tool_name": "select_active_intent", "arguments": "{\"intent_id\": \"INT-001\"}"}});
    assert_eq!(cline(&context, "PreToolUse", "preToolUse", &select)["cancel"], false);
    select["result"] = json!("selected");
    select["success"] = json!(true);
    cline(&context, "PostToolUse", "postToolUse", &select);
    assert_eq!(cline(&context, "PreToolUse", "preToolUse", &write)["cancel"], false);
}

#[test]
fn our_own_agent_lists_and_selects_intents_and_is_bound_by_them() {
    let answer = |request: &Recorded| {
        let body = request.json();
        let results = body["messages"].as_array().into_iter().flatten().filter(|message| message["role"] == "tool");
        match results.count() {
            0 => Reply::call(&[("c1", "list_intents", json!({}))]),
            1 => Reply::call(&[("c2", "write_file", json!({"path": "src/hooks/b.ts", "content": "b\n"}))]),
            2 => Reply::call(&[("c3", "select_active_intent", json!({"intent_id": "INT-001"}))]),
            3 => Reply::call(&[("c4", "write_file", json!({"path": "src/hooks/b.ts", "content": "b\n"}))]),
            _ => Reply::say("done"),
        }
    };
    let workspace = RunWorkspace::new(ScriptedModel::answering(answer), &[]);
    let context = &workspace.context;
    let manifest = json!({"version": 1, "modules": MODULES, "budgets": {"PreToolUse": 60_000, "PostToolUse": 60_000}});
    context.write(".ai/hooks/dispatch.manifest.json", manifest.to_string());
    context.write(".orchestration/active_intents.yaml", crate::intents_host::INTENTS);
    let base_url = workspace.model.base_url();
    let variables = [("DISPATCH_BASE_URL", base_url.as_str()), ("DISPATCH_MODEL", "scripted")];
    let output = context.run("dispatch", &["chat", "work", "--approve", "all"], b"", &variables);
    assert_eq!(output.status, 0, "{output:?}");
    let asked = workspace.model.requests().last().expect("a request").json();
    let results: Vec<String> = asked["messages"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|message| message["role"] == "tool")
        .map(|message| message["content"].to_string())
        .collect();
    assert!(results[0].contains("INT-002") && !results[0].contains("INT-003"), "{results:?}");
    assert!(results[1].contains("IN01"), "{results:?}");
    assert!(results[2].contains("Active intent INT-001"), "{results:?}");
    assert_eq!(fs::read_to_string(context.project().join("src/hooks/b.ts")).unwrap(), "b\n", "{results:?}");
    assert_eq!(entries(context)[0].intent_id, "INT-001");
}

#[test]
fn the_model_of_a_session_is_remembered_from_its_start() {
    let context = repository();
    let host = Host::claude(&context, "s");
    host.fire("SessionStart", &json!({"source": "startup", "model": "some-model-1"}));
    host.select("INT-001");
    assert_eq!(host.write("1", "src/hooks/a.ts", "a\nb\n"), None);
    assert_eq!(entries(&context)[0].model.as_deref(), Some("some-model-1"));
    let records = context.dispatch(&["trace", "export", "--agent-trace"]).stdout;
    assert!(records.contains("\"model_id\":\"some-model-1\""), "{records}");
}

#[test]
fn files_that_hold_secrets_are_recorded_without_a_copy() {
    let canaries = [
        ("src/hooks/.env", "DB_PASS=hunter2-canary"),
        ("src/hooks/.env.production", "TOKEN=hunter2-canary"),
        ("src/hooks/id_rsa", "hunter2-canary"),
        ("src/hooks/deploy.key", "hunter2-canary"),
        ("src/hooks/secrets.yaml", "password: hunter2-canary"),
        ("src/hooks/.npmrc", "//registry/:_authToken=hunter2-canary"),
        ("src/hooks/private-key.pem", "hunter2-canary"),
        ("src/hooks/store.p12", "hunter2-canary"),
    ];
    let context = repository();
    let host = Host::claude(&context, "s");
    host.select("INT-001");
    for (number, (path, text)) in canaries.iter().enumerate() {
        assert_eq!(host.write(&format!("w{number}"), path, &format!("{text}\n")), None, "{path}");
    }
    assert_eq!(host.write("plain", "src/hooks/plain.ts", "plain\n"), None);
    assert!(host.run("tree", "node -e 0; true").is_ok());
    assert_eq!(entries(&context).len(), canaries.len() + 1);
    let found = context.run_shell("grep -rl hunter2-canary .orchestration");
    assert_eq!(found.stdout, "", "{found:?}");
    let copies = context.run_shell("grep -rlx plain .orchestration/.trace/contents");
    assert!(!copies.stdout.is_empty(), "other files are copied");
}

fn blamed(context: &TestContext) -> Value {
    context.dispatch(&["trace", "blame", "src/hooks/a.ts", "--json"]).json()
}

#[test]
fn ended_sessions_are_archived_and_everything_reads_the_archive() {
    let context = repository();
    for (session, text) in [("old", "a\nb\n"), ("new", "a\nb\nc\n")] {
        let host = Host::claude(&context, session);
        host.select("INT-001");
        assert_eq!(host.write("1", "src/hooks/a.ts", text), None);
        if session == "old" {
            host.fire("SessionEnd", &json!({"reason": "exit"}));
        }
    }
    let before = blamed(&context);
    let ledger = orchestration(&context).join("agent_trace.jsonl");
    let whole = fs::read_to_string(&ledger).unwrap();
    let done = context.dispatch(&["trace", "archive", "--json"]).json();
    assert_eq!((&done["sessions"], &done["entries"], &done["left"]), (&json!(1), &json!(1), &json!(1)), "{done}");
    let archive = fs::read_dir(orchestration(&context).join("archive")).unwrap().flatten().next().unwrap().path();
    assert!(fs::read_to_string(&archive).unwrap().contains(&session_folder("old")));
    assert!(!fs::read_to_string(&ledger).unwrap().contains(&session_folder("old")));
    let verify = || context.dispatch(&["trace", "verify"]);
    let found = verify();
    assert_eq!((found.status, found.stdout.contains("2 entries")), (0, true), "{found:?}");
    assert_eq!(blamed(&context), before);
    assert_eq!(context.dispatch(&["trace", "log", "--json"]).stdout.lines().count(), 2);
    // Work goes on behind an archive, and git merges it like the ledger.
    assert_eq!(Host::claude(&context, "new").write("2", "src/hooks/a.ts", "a\nb\nc\nd\n"), None);
    assert_eq!(verify().status, 0);
    let attributes = format!("git check-attr merge -- {}", archive.display());
    assert!(context.run_shell(&attributes).stdout.contains("union"));
    // Interrupted after the archive was written: every line is in both.
    fs::write(&ledger, format!("{whole}{}", fs::read_to_string(&ledger).unwrap())).unwrap();
    assert_eq!(verify().status, 0, "{:?}", verify());
    // A removed archive is found.
    fs::write(&ledger, fs::read_to_string(&ledger).unwrap().replace(&whole, "")).unwrap();
    assert!(shell(&context, "git add -A && git commit -qm archived"));
    fs::remove_file(&archive).unwrap();
    assert_eq!(verify().status, 1, "{:?}", verify());
}

#[test]
fn a_pull_request_gets_a_workflow_and_a_summary_per_intent() {
    let context = repository();
    let init = context.dispatch(&["init", "--host", "claude-code", "--intents", "--ci", "github"]);
    assert_eq!(init.status, 0, "{init:?}");
    let workflow = fs::read_to_string(context.project().join(".github/workflows/intents.yml")).unwrap();
    assert!(workflow.contains("dispatch trace check --base") && workflow.contains("--format markdown"), "{workflow}");
    let host = Host::claude(&context, "s");
    host.select("INT-001");
    assert_eq!(host.write("1", "src/hooks/a.ts", "a\nb\n"), None);
    assert!(shell(&context, "git add -A && git commit -qm one"));
    host.select("INT-002");
    assert_eq!(host.write("2", "shared.txt", "x\n"), None);
    let all = context.dispatch(&["trace", "report", "--format", "markdown"]);
    assert!(all.stdout.contains("| INT-001 Hooks |") && all.stdout.contains("INT-002"), "{all:?}");
    let change = context.dispatch(&["trace", "report", "--format", "markdown", "--base", "HEAD"]);
    assert!(!change.stdout.contains("INT-001") && change.stdout.contains("| INT-002 Weather |"), "{change:?}");
    assert_eq!(context.dispatch(&["trace", "report", "--base", "HEAD"]).status, 2);
}

#[test]
fn small_answers_say_what_is_the_case() {
    let context = repository();
    let host = Host::claude(&context, "the-hosts-own-id");
    host.select("INT-002");
    assert_eq!(host.write("1", "shared.txt", "x\n"), None);
    // A build folder that is not there can be removed.
    assert_eq!(host.denied("Bash", "2", &json!({"command": "rm -rf dist"})), None);
    // Work starts an intent.
    assert_eq!(context.dispatch(&["intent", "complete", "INT-002"]).status, 0);
    let log = context.dispatch(&["trace", "log", "--session", "the-hosts-own-id"]);
    assert!(log.stdout.contains("shared.txt"), "{log:?}");
    // A line that was written out of scope is marked.
    let other = Host::claude(&context, "other");
    other.select("INT-001");
    let input = json!({"command": "node x.js"});
    assert_eq!(other.denied("Bash", "3", &input), None);
    context.write("src/web/page.ts", "one\ntwo\nthree\n");
    other.ended("Bash", "3", &input, &json!({"exit_code": 0}));
    let blame = context.dispatch(&["trace", "blame", "src/web/page.ts"]);
    assert!(blame.stdout.contains("INT-001 FAIL"), "{blame:?}");
    // A bad status is named.
    let file = orchestration(&context).join("active_intents.yaml");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("IN_PROGRESS", "STARTED")).unwrap();
    let select = context.dispatch(&["intent", "select", "INT-001", "--session", "other"]);
    assert!(select.stderr.contains("status") && select.stderr.contains("STARTED"), "{select:?}");
    let denied = other.denied("Write", "4", &json!({"file_path": other.path("src/hooks/a.ts"), "content": "x"}));
    assert!(denied.is_some_and(|reason| reason.contains("STARTED")));
}

#[test]
fn claims_are_shown_and_freed() {
    let context = repository();
    assert_eq!(context.dispatch(&["intent", "edit", "INT-001", "--claim", "exclusive"]).status, 0);
    let (first, second) = (Host::claude(&context, "first"), Host::claude(&context, "second"));
    first.select("INT-001");
    second.select("INT-001");
    assert_eq!(first.write("1", "src/hooks/a.ts", "b\n"), None);
    let write = json!({"file_path": second.path("src/hooks/a.ts"), "content": "x"});
    assert!(second.denied("Write", "2", &write).is_some_and(|reason| reason.contains("IN04")));
    let shown = context.dispatch(&["intent", "claims"]);
    assert!(shown.stdout.contains("INT-001") && shown.stdout.contains(&session_folder("first")), "{shown:?}");
    assert_eq!(context.dispatch(&["intent", "claims", "--free", "INT-001"]).status, 0);
    assert_eq!(second.denied("Write", "3", &write), None);
    assert_eq!(context.dispatch(&["intent", "claims", "--free", "INT-009"]).status, 2);
}

#[test]
fn the_repeated_form_of_scope_excludes_too() {
    let context = repository();
    let new = ["intent", "new", "Sources", "--scope", "src/**", "--scope", "!src/web/**"];
    assert_eq!(context.dispatch(&new).status, 0);
    let host = Host::claude(&context, "s");
    host.select("INT-004");
    let write = |path: &str| json!({"file_path": host.path(path), "content": "x"});
    assert_eq!(host.denied("Write", "1", &write("src/api.ts")), None);
    assert!(host.denied("Write", "2", &write("src/web/page.ts")).is_some());
}

#[test]
fn a_failure_event_ends_a_call_for_each_host_that_sends_one() {
    for (name, event) in [("claude-code", "PostToolUseFailure"), ("goose", "PostToolUseFailure")] {
        let context = repository();
        let host = Host { context: &context, name, session: "s".to_owned() };
        let tool = if name == "goose" { "developer__shell" } else { "Bash" };
        let select = json!({"tool_name": "mcp__dispatch__select_active_intent", "tool_use_id": "s",
            "tool_input": {"intent_id": "INT-001"}, "tool_response": [{"type": "text", "text": "selected"}]});
        host.fire("PostToolUse", &select);
        let mut call = json!({"tool_name": tool, "tool_use_id": "1", "tool_input": {"command": "node x.js; exit 1"}});
        host.fire("PreToolUse", &call);
        context.write("src/web/page.ts", "by a command that failed\n");
        call["error"] = json!("exit status 1");
        host.fire(event, &call);
        let found = entries(&context);
        assert_eq!(found.len(), 1, "{name}: {found:?}");
        assert_eq!((found[0].path(), found[0].success), (Some("src/web/page.ts"), false), "{name}");
    }
}

/// A ledger of the old form is one chain over all sessions, and its head knows its last line alone.
#[test]
fn a_ledger_of_the_old_form_is_read_and_carried_on() {
    let context = repository();
    for session in ["one", "two"] {
        let host = Host::claude(&context, session);
        host.select("INT-001");
        assert_eq!(host.write("1", "src/hooks/a.ts", &format!("a\n{session}\n")), None);
    }
    let ledger = orchestration(&context).join("agent_trace.jsonl");
    let mut lines: Vec<Value> =
        fs::read_to_string(&ledger).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let mut last = format!("sha256:{}", "0".repeat(64));
    let mut text = String::new();
    for line in &mut lines {
        line["prev"] = json!(last);
        let line = line.to_string();
        last = ext_intents::contract::testing::content_hash(line.as_bytes());
        text.push_str(&format!("{line}\n"));
    }
    fs::write(&ledger, &text).unwrap();
    let head = json!({"entries": lines.len(), "bytes": text.len(), "last": last});
    fs::write(orchestration(&context).join("agent_trace.head"), head.to_string()).unwrap();
    let verify = || context.dispatch(&["trace", "verify"]);
    assert_eq!(verify().status, 0, "{:?}", verify());
    assert_eq!(Host::claude(&context, "two").write("2", "src/hooks/a.ts", "a\ntwo\nthree\n"), None);
    assert_eq!(verify().status, 0, "{:?}", verify());
    let whole = fs::read_to_string(&ledger).unwrap();
    fs::write(&ledger, whole.replacen("INT-001", "INT-002", 1)).unwrap();
    assert_eq!(verify().status, 1);
}
