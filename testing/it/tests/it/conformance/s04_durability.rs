//! Section 4: the log is the truth, the state is a cache of it, and both are written once per invocation.

use super::workspace::{PipelineWorkspace, SID, sha256_hex};
use serde_json::{Value, json};

/// A world with a module that patches the state as the command says.
fn patching() -> PipelineWorkspace {
    let workspace = PipelineWorkspace::with(&["session", "patch"]);
    workspace.script("patch", "", "return { statePatch: JSON.parse(ctx.event.toolInput.command) };");
    workspace
}

fn patch(workspace: &PipelineWorkspace, patch: &Value) {
    assert_eq!(workspace.decision(&patch.to_string()), "allow");
}

#[test]
fn s04_1_the_log_only_grows() {
    let workspace = PipelineWorkspace::with(&["session", "graph-pretooluse"]);
    let mut before = String::new();
    for command in ["ls", "rm -rf /srv/data", "ls -l"] {
        workspace.bash(command);
        let after = workspace.text("events.jsonl");
        assert!(after.len() > before.len() && after.starts_with(&before), "{command}");
        before = after;
    }
}

#[test]
fn s04_1_every_line_of_every_log_is_one_object() {
    let workspace = PipelineWorkspace::with(&["session", "maker"]);
    workspace.script("maker", "", "return { registerArtifacts: [{kind: 'note', path: 'a.md'}] };");
    workspace.prompt("one\ntwo\u{2028}three");
    workspace.bash("printf 'a\nb'");
    for log in ["events.jsonl", "p.jsonl", "registry.jsonl"] {
        let lines = workspace.lines(log);
        assert!(!lines.is_empty() && lines.iter().all(Value::is_object), "{log}");
        assert!(workspace.text(log).ends_with('\n'), "{log}");
    }
}

#[test]
fn s04_1_prompts_are_audited_as_text_or_as_hash() {
    let workspace = PipelineWorkspace::with(&["session"]);
    workspace.prompt("my key is ghp_0123456789abcdefghijABCDEFGHIJ456789");
    workspace.configure(&json!({"prompts": "hash"}));
    workspace.prompt("a quiet one");
    let audit = workspace.lines("p.jsonl");
    assert_eq!(audit[0]["text"], "my key is [REDACTED]");
    assert_eq!(audit[1]["text"], Value::Null);
    assert_eq!(audit[1]["sha256"], sha256_hex("a quiet one"));
    assert!(!workspace.text("events.jsonl").contains("a quiet one"), "hash only, everywhere");
}

#[test]
fn s04_1_artifacts_are_registered() {
    let workspace = PipelineWorkspace::with(&["session", "maker"]);
    workspace.script("maker", "", "return { registerArtifacts: [{kind: 'note', path: 'a.md', sha256: 'ff'}] };");
    workspace.bash("ls");
    let line = workspace.lines("registry.jsonl").pop().unwrap();
    assert_eq!((&line["kind"], &line["path"], &line["module"]), (&json!("note"), &json!("a.md"), &json!("maker")));
    assert_eq!(line["hookRunId"], workspace.last_run()["hookRunId"]);
}

#[test]
fn s04_2_the_session_id_is_set_once() {
    let workspace = patching();
    patch(&workspace, &json!({"core": {"sessionId": "ffffffff"}}));
    assert_eq!(workspace.state()["core"]["sessionId"], SID);
}

#[test]
fn s04_2_the_session_id_is_set_once_even_by_the_first_event() {
    let workspace = PipelineWorkspace::with(&["session", "patch"]);
    workspace.script("patch", "", "return { statePatch: {core: {sessionId: 'ffffffff'}} };");
    workspace.bash("ls");
    assert_eq!(workspace.state()["core"]["sessionId"], SID);
    assert_eq!(workspace.last_run()["data"]["statePatch"]["core"]["sessionId"], SID, "and the log tells the same");
}

#[test]
fn s04_2_the_work_id_is_set_if_newer() {
    let workspace = patching();
    workspace.prompt("one");
    workspace.prompt("/new two");
    assert_eq!(workspace.state()["core"]["workId"], "w002");
    patch(&workspace, &json!({"core": {"workId": "w001", "lastTurnId": 1}}));
    assert_eq!(workspace.state()["core"]["workId"], "w002", "an older turn does not bring it back");
    patch(&workspace, &json!({"core": {"workId": "w003", "lastTurnId": 9}}));
    assert_eq!(workspace.state()["core"]["workId"], "w003");
}

#[test]
fn s04_2_turns_and_offsets_are_the_highest_seen() {
    let workspace = patching();
    for (given, kept) in [(5, 5), (3, 5), (8, 8)] {
        patch(&workspace, &json!({"core": {"lastTurnId": given, "lastEventOffset": given}}));
        let core = &workspace.state()["core"];
        assert_eq!((&core["lastTurnId"], &core["lastEventOffset"]), (&json!(kept), &json!(kept)));
    }
}

/// A time that no clock of a test reaches, and that a script can count with.
const LATER: i64 = 4_000_000_000_000_000;

#[test]
fn s04_2_the_phase_moves_on_and_blocked_stands_beside() {
    let workspace = patching();
    for (given, time, kept) in [
        ("EXECUTING", 1, "EXECUTING"),
        ("PLANNING", 2, "EXECUTING"),
        ("BLOCKED", LATER, "BLOCKED"),
        ("EXECUTING", LATER + 1, "EXECUTING"),
        ("COMPLETE", LATER + 1, "COMPLETE"),
        ("EXECUTING", LATER + 2, "COMPLETE"),
    ] {
        patch(&workspace, &json!({"core": {"phase": given, "phaseTs": time}}));
        assert_eq!(workspace.state()["core"]["phase"], kept, "{given}");
    }
}

#[test]
fn s04_2_plan_capability_rlm_and_memory_pointers_are_overwritten() {
    let workspace = patching();
    let first = json!({"plan": {"currentPath": "a", "mtime": 2, "hash": "x"}, "cap": {"neo4j": {"enabled": true,
        "reachable": true, "schemaVersion": "1"}}, "rlm": {"last": "a"}, "memory": {"seen": {"at": "a"}}});
    let second = json!({"plan": {"currentPath": "b", "mtime": 1, "hash": "y"}, "cap": {"neo4j": {"enabled": false,
        "reachable": false, "schemaVersion": "2"}}, "rlm": {"last": "b"}, "memory": {"seen": {"at": "b"}}});
    patch(&workspace, &first);
    patch(&workspace, &second);
    let state = workspace.state();
    for section in ["plan", "cap", "rlm", "memory"] {
        assert_eq!(state[section], second[section], "{section}");
    }
}

#[test]
fn s04_2_the_last_check_of_a_capability_is_the_latest() {
    let workspace = patching();
    for (given, kept) in [(50, 50), (10, 50), (70, 70)] {
        patch(&workspace, &json!({"cap": {"neo4j": {"lastCheckTs": given}}}));
        assert_eq!(workspace.state()["cap"]["neo4j"]["lastCheckTs"], kept);
    }
}

#[test]
fn s04_2_counts_come_from_the_log_and_not_from_the_state() {
    let workspace = PipelineWorkspace::with(&["session", "graph-pretooluse"]);
    workspace.prompt("go");
    workspace.bash("ls");
    workspace.bash("rm -rf /srv/data");
    workspace.fire("Stop", &json!({}));
    let stop = workspace.of_type("STOP").pop().unwrap();
    assert_eq!(
        (&stop["data"]["turn"]["toolCalls"], &stop["data"]["turn"]["denied"], &stop["data"]["session"]["prompts"]),
        (&json!(2), &json!(1), &json!(1))
    );
    assert!(!workspace.state().to_string().to_lowercase().contains("count"));
}

#[test]
fn s04_3_patches_are_applied_in_the_order_of_the_modules() {
    let workspace = PipelineWorkspace::with(&["session", "late", "early"]);
    workspace.script("early", "priority: 10,", "return { statePatch: {memory: {by: 'early', early: true}} };");
    workspace.script("late", "priority: 20,", "return { statePatch: {memory: {by: 'late'}} };");
    workspace.bash("ls");
    assert_eq!(workspace.state()["memory"], json!({"by": "late", "early": true}));
}

#[test]
fn s04_3_the_state_is_replaced_as_a_whole_and_leaves_no_temporary_file() {
    let workspace = patching();
    for number in 0..5 {
        patch(&workspace, &json!({"memory": {"n": number.to_string()}}));
        let names: Vec<String> = workspace.files(&format!(".ai/tmp/{SID}")).into_iter().collect();
        assert!(names.iter().all(|name| !name.contains("tmp") && !name.starts_with(".state")), "{names:?}");
    }
}

#[cfg(unix)]
#[test]
fn s04_3_the_state_is_written_only_when_it_changes_and_then_once() {
    use std::os::unix::fs::MetadataExt;
    let workspace = PipelineWorkspace::with(&["session"]);
    let inode = || std::fs::metadata(workspace.session().join("state.json")).map(|found| found.ino());
    workspace.prompt("one");
    let first = inode().unwrap();
    workspace.bash("ls");
    assert_eq!(inode().unwrap(), first, "an ordinary call leaves it alone");
    workspace.prompt("two");
    assert_ne!(inode().unwrap(), first, "a change puts a new file in its place");
}

#[test]
fn s04_3_records_of_one_invocation_stand_together() {
    let workspace = PipelineWorkspace::with(&["session", "noisy"]);
    workspace.script("noisy", "", "return { emitEvents: [{type: 'ONE'}, {type: 'TWO', data: {x: 1}}] };");
    workspace.bash("ls");
    let kinds: Vec<Value> = workspace.records().iter().map(|record| record["type"].clone()).collect();
    assert_eq!(kinds, ["TOOL_CALL", "ONE", "TWO", "HOOK_RUN"]);
}

#[test]
fn s04_3_a_lost_state_is_made_again_from_the_log() {
    let workspace = PipelineWorkspace::with(&["session"]);
    workspace.prompt("one");
    workspace.prompt("/new two");
    let before = workspace.state();
    std::fs::remove_file(workspace.session().join("state.json")).unwrap();
    workspace.bash("ls");
    assert_eq!(workspace.state(), before);
    assert_eq!(workspace.last_run()["turnId"], 2);
}
