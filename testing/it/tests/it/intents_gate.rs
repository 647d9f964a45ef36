//! Intents before a call: who may write what, who waits, and what happens when the rules themselves are broken.

use crate::intents_host::{Host, commit_all, entries, orchestration, session_folder, workspace};
use dispatch_support::TestContext;
use serde_json::{Value, json};
use std::fs;

const MODULES: [&str; 2] = ["session", "intents"];

fn starts(reason: Option<String>, text: &str) {
    let reason = reason.expect("a denial");
    assert!(reason.contains(text), "{reason}");
}

#[test]
fn every_tool_that_writes_needs_an_intent_and_none_that_reads() {
    let context = workspace(&MODULES);
    let host = Host::claude(&context, "s");
    let file = host.path("src/hooks/a.ts");
    let writing: [(&str, Value); 7] = [
        ("Write", json!({"file_path": file, "content": "x"})),
        ("Edit", json!({"file_path": file, "old_string": "a", "new_string": "b"})),
        ("MultiEdit", json!({"file_path": file, "edits": []})),
        ("NotebookEdit", json!({"notebook_path": host.path("src/hooks/a.ipynb"), "new_source": "x"})),
        ("Bash", json!({"command": "echo x > src/hooks/a.ts"})),
        ("Bash", json!({"command": "npm run build"})),
        ("mcp__fs__write_file", json!({"path": file, "content": "x"})),
    ];
    for (number, (tool, input)) in writing.into_iter().enumerate() {
        let reason = host.denied(tool, &format!("w{number}"), &input);
        starts(reason, "No active intent. Call select_active_intent first.");
    }
    let reading: [(&str, Value); 6] = [
        ("Read", json!({"file_path": file})),
        ("Grep", json!({"pattern": "x", "path": "src"})),
        ("Bash", json!({"command": "cat src/hooks/a.ts | head -3"})),
        ("Bash", json!({"command": "dispatch intent select INT-001"})),
        ("mcp__dispatch__select_active_intent", json!({"intent_id": "INT-001"})),
        ("mcp__docs__search", json!({"query": "x"})),
    ];
    for (number, (tool, input)) in reading.into_iter().enumerate() {
        assert_eq!(host.denied(tool, &format!("r{number}"), &input), None, "{tool} {input}");
    }
}

#[test]
fn an_intent_is_selected_by_the_call_that_passes() {
    let context = workspace(&MODULES);
    let host = Host::claude(&context, "s");
    let state = || {
        let file = context.project().join(".ai/tmp").join(session_folder("s")).join("state.json");
        let state: Value = serde_json::from_slice(&fs::read(file).expect("the state")).expect("JSON");
        state["intents"]["active"].clone()
    };
    let tool = "mcp__dispatch__select_active_intent";
    host.ended(tool, "1", &json!({"intent_id": "INT-001"}), &json!({"is_error": true, "error": "no"}));
    assert_eq!(state(), Value::Null, "a call that failed selects nothing");
    host.select("INT-999");
    host.select("INT-003");
    assert_eq!(state(), Value::Null, "neither does one for an intent that is not declared or closed");
    host.select("INT-001");
    assert_eq!(state(), "INT-001");
    host.select("INT-002");
    assert_eq!(state(), "INT-002");
    let selected = host.records().into_iter().filter(|record| record["type"] == "INTENT_SELECTED");
    assert_eq!(selected.map(|record| record["data"]["intent"].clone()).collect::<Vec<_>>(), ["INT-001", "INT-002"]);
    let reminder = host.fire("SessionStart", &json!({"source": "resume"})).to_string();
    assert!(reminder.contains("Active intent INT-002 (Weather)"), "{reminder}");
    starts(Host::claude(&context, "other").write("1", "src/weather/a.ts", "x"), "No active intent");
}

#[test]
fn a_write_stays_in_the_scope_of_its_intent_whatever_its_spelling() {
    let context = workspace(&MODULES);
    let host = Host::claude(&context, "s");
    host.select("INT-002");
    let project = context.project();
    fs::create_dir_all(project.join("src/weather")).unwrap();
    fs::create_dir_all(project.join("src/hooks")).unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::symlink;
        symlink("../hooks", project.join("src/weather/folder")).unwrap();
        symlink("../hooks/a.ts", project.join("src/weather/link.ts")).unwrap();
        symlink("../hooks/not-there.ts", project.join("src/weather/dangling.ts")).unwrap();
    }
    let violation = |path: &str| format!("Scope violation: {path} is not in INT-002's owned_scope");
    let mut outside = vec![
        ("src/hooks/a.ts".to_owned(), "src/hooks/a.ts"),
        ("src/weather/../hooks/a.ts".to_owned(), "src/hooks/a.ts"),
        (project.join("src/hooks/a.ts").to_string_lossy().into_owned(), "src/hooks/a.ts"),
        ("SRC/weather/a.ts".to_owned(), "SRC/weather/a.ts"),
        ("src/weatherman/a.ts".to_owned(), "src/weatherman/a.ts"),
    ];
    if cfg!(unix) {
        outside.extend([
            ("src/weather/folder/a.ts".to_owned(), "src/hooks/a.ts"),
            ("src/weather/link.ts".to_owned(), "src/hooks/a.ts"),
            ("src/weather/dangling.ts".to_owned(), "src/hooks/not-there.ts"),
        ]);
    }
    for (number, (path, told)) in outside.iter().enumerate() {
        let input = json!({"file_path": path, "content": "x"});
        let reason = host.denied("Write", &format!("o{number}"), &input).expect("a denial");
        assert!(reason.contains(&violation(told)), "{path}: {reason}");
        let command = json!({"command": format!("echo x > '{path}'")});
        starts(host.denied("Bash", &format!("c{number}"), &command), &violation(told));
    }
    let reason = host.denied("Write", "x", &json!({"file_path": "src/hooks/a.ts", "content": ""})).expect("a denial");
    assert!(reason.contains("INT-001 (Hooks) owns src/hooks/a.ts"), "{reason}");
    starts(host.denied("Bash", "t", &json!({"command": "echo x > /opt/x"})), "outside the workspace");
    let patch = "*** Begin Patch\n*** Add File: src/weather/b.ts\n+x\n*** Add File: src/hooks/b.ts\n+x\n*** End Patch";
    let codex = Host { context: &context, name: "codex", session: "s".to_owned() };
    let answer = codex
        .fire("PreToolUse", &json!({"tool_name": "apply_patch", "tool_input": {"command": patch}, "tool_use_id": "p"}));
    assert!(answer.to_string().contains(&violation("src/hooks/b.ts")), "{answer}");
    assert_eq!(host.write("in", "src/weather/.deep/a.ts", "x"), None);
    context.write(".orchestration/active_intents.yaml", crate::intents_host::INTENTS.replace("PLANNED", "ABANDONED"));
    starts(host.write("closed", "src/weather/a.ts", "y"), "Intent INT-002 is ABANDONED");
}

#[test]
fn without_the_folder_or_with_a_broken_file_everything_goes_on() {
    let context = workspace(&MODULES);
    let host = Host::claude(&context, "s");
    context.write(".orchestration/active_intents.yaml", "active_intents: [");
    assert_eq!(host.write("1", "anything.txt", "x"), None);
    assert_eq!(host.write("2", "anything.txt", "y"), None);
    assert_eq!(host.warnings().len(), 1, "told once: {:?}", host.warnings());
    assert!(host.warnings()[0].contains("intents are off"), "{:?}", host.warnings());
    fs::remove_dir_all(context.project().join(".orchestration")).unwrap();
    let other = Host::claude(&context, "t");
    assert_eq!(other.write("3", "anything.txt", "z"), None);
    assert!(other.warnings().is_empty());
    assert!(!context.project().join(".orchestration").exists());
}

#[test]
fn what_fails_while_gating_or_recording_never_stops_the_tool() {
    let broken_local = workspace(&MODULES);
    let host = Host::claude(&broken_local, "s");
    host.select("INT-001");
    fs::remove_dir_all(orchestration(&broken_local).join(".trace")).unwrap();
    broken_local.write(".orchestration/.trace", "a file in the place of the folder");
    assert_eq!(host.write("1", "src/hooks/a.ts", "x"), None);
    assert!(!host.warnings().is_empty());

    let no_ledger = workspace(&MODULES);
    let host = Host::claude(&no_ledger, "s");
    host.select("INT-001");
    fs::create_dir_all(orchestration(&no_ledger).join("agent_trace.jsonl")).unwrap();
    assert_eq!(host.write("1", "src/hooks/a.ts", "x"), None);
    assert!(
        host.warnings().iter().any(|text| text.contains("cannot append the entries of this call to the ledger")),
        "{:?}",
        host.warnings()
    );

    let locked = workspace(&MODULES);
    let host = Host::claude(&locked, "s");
    host.select("INT-001");
    assert_eq!(host.write("1", "src/hooks/a.ts", "x"), None);
    let lock = fs::File::open(orchestration(&locked).join(".trace/ledger.lock")).unwrap();
    lock.lock().unwrap();
    assert_eq!(host.write("2", "src/hooks/a.ts", "y"), None);
    assert!(host.warnings().iter().any(|text| text.contains("in use by another process")), "{:?}", host.warnings());
    lock.unlock().unwrap();
    assert_eq!(host.write("3", "src/hooks/a.ts", "z"), None);
    assert_eq!(entries(&locked).len(), 2);

    let large = workspace(&MODULES);
    let host = Host::claude(&large, "s");
    host.select("INT-001");
    fs::create_dir_all(large.project().join("src/hooks")).unwrap();
    let file = fs::File::create(host.path("src/hooks/huge.bin")).unwrap();
    file.set_len(300 * 1024 * 1024).unwrap();
    let input = json!({"file_path": host.path("src/hooks/huge.bin"), "old_string": "a", "new_string": "b"});
    assert_eq!(host.denied("Edit", "1", &input), None);
    host.ended("Edit", "1", &input, &json!({"success": true}));
    let found = entries(&large);
    let hashes = found[0].file.as_ref().expect("a file");
    assert_eq!((&hashes.pre_hash, &hashes.post_hash), (&None, &None));
    assert!(host.warnings().iter().any(|text| text.contains("cannot hash")), "{:?}", host.warnings());
}

#[test]
fn an_exclusive_claim_keeps_the_second_session_out() {
    let context = workspace(&MODULES);
    let claimed = crate::intents_host::INTENTS.replace("kind: fix", "claim: exclusive");
    context.write(".orchestration/active_intents.yaml", claimed);
    let (first, second) = (Host::claude(&context, "first"), Host::claude(&context, "second"));
    first.select("INT-002");
    second.select("INT-002");
    assert_eq!(first.write("1", "src/weather/a.ts", "x"), None);
    let reason = second.write("2", "src/weather/b.ts", "x").expect("a denial");
    assert!(
        reason.contains("INT-002 has been claimed by session") && reason.contains(&session_folder("first")),
        "{reason}"
    );
    second.select("INT-001");
    assert_eq!(second.write("3", "src/hooks/b.ts", "x"), None);
    first.fire("SessionEnd", &json!({"reason": "exit"}));
    second.select("INT-002");
    assert_eq!(second.write("4", "src/weather/b.ts", "x"), None);
}

#[test]
fn nothing_is_written_when_only_the_answer_is_wanted() {
    let context = workspace(&MODULES);
    commit_all(&context);
    let host = Host::claude(&context, "s");
    let payload = host.payload("PreToolUse", &json!({"tool_name": "Bash", "tool_input": {"command": "make"}}));
    let output = context.run("dispatch", &["explain", "--json"], payload.to_string().as_bytes(), &[]);
    assert!(output.stdout.contains("IN05"), "{output:?}");
    assert!(!orchestration(&context).join(".trace").exists());
}

#[test]
fn the_extension_is_bundled_and_can_be_left_out() {
    let context = TestContext::new();
    let state = |set: &[&str]| -> Option<String> {
        let arguments: Vec<&str> = set.iter().copied().chain(["ext", "list", "--json"]).collect();
        let listed = context.dispatch(&arguments).json();
        let found = listed.as_array().unwrap().iter().find(|it| it["id"] == "intents");
        found.map(|it| it["state"].as_str().unwrap_or("?").to_owned())
    };
    assert_eq!(state(&[]).as_deref(), Some("active"));
    assert_eq!(state(&["--minimal"]), None);
    assert_eq!(state(&["--set", "extensions.disabled=[\"intents\"]"]), None);
    let without_pipeline = state(&["--set", "extensions.disabled=[\"hook-pipeline\"]"]);
    assert_eq!(without_pipeline.as_deref(), Some("active"), "the commands still need it");
    assert_eq!(context.dispatch(&["--set", "extensions.disabled=[\"intents\"]", "doctor"]).status, 0);
}
