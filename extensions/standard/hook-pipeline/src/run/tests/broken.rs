//! Whatever is broken, the host gets its answer and nothing is written where it should not be.

use dispatch_hook_module::{Decision, RecordType};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::workspace::Workspace;

#[test]
fn garbage_gets_the_go_on_and_one_record() {
    let workspace = Workspace::new();
    let huge = vec![b'['; 3 * 1024 * 1024];
    let inputs: [&[u8]; 8] =
        [b"", b"\0\0", b"not json", b"[]", b"{", b"\xff\xfe\x00", b"{\"hook_event_name\": 7}", &huge];
    for (index, input) in inputs.into_iter().enumerate() {
        let outcome = workspace.send(input);
        assert_eq!(outcome.reply.stdout, b"{}\n", "{index}");
        assert_eq!(outcome.reply.exit_code, 0);
    }
}

#[test]
fn an_unreadable_payload_is_on_record_with_a_warning() {
    let workspace = Workspace::new();
    workspace.send(b"not json");
    let logs: Vec<String> = workspace.files().into_iter().filter(|file| file.ends_with("events.jsonl")).collect();
    assert_eq!(logs.len(), 1);
    let log = std::fs::read_to_string(workspace.root().join(".ai/tmp").join(&logs[0])).expect("readable");
    assert!(log.contains("WARNING") && log.contains("HOOK_RUN") && log.lines().count() == 2, "{log}");
    assert!(!log.contains("not json\""), "the payload itself is not kept");
}

#[test]
fn broken_configuration_never_blocks_and_is_told() {
    let workspace = Workspace::new();
    workspace.write(".ai/hooks/dispatch.manifest.json", "{ nope");
    workspace.write(".ai/hooks/config.json", "[");
    let outcome = workspace.command("ls", "1");
    assert_eq!(outcome.report.map(|report| report.decision), Some(Decision::Allow));
    let warnings = workspace.of_type(RecordType::Warning);
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(outcome.problems.len() >= 2);
    let guarded = workspace.command("rm -r .ai/hooks", "2");
    assert_eq!(guarded.report.map(|report| report.decision), Some(Decision::Ask), "the default guards run");
}

#[test]
fn rules_that_are_there_and_cannot_be_read_deny() {
    let workspace = Workspace::new();
    std::fs::remove_file(workspace.root().join(".ai/hooks/dispatch.manifest.json")).expect("removable");
    std::fs::create_dir(workspace.root().join(".ai/hooks/dispatch.manifest.json")).expect("a folder");
    workspace.write(".ai/hooks/config.json", &format!("{{\"x\": \"{}\"}}", "y".repeat(2 * 1024 * 1024)));
    let report = workspace.command("ls", "1").report.expect("a report");
    assert_eq!((report.decision, report.code.as_deref()), (Decision::Deny, Some("PL02")));
    assert_eq!(workspace.of_type(RecordType::Warning).len(), 2);
    assert_eq!(workspace.fire("Stop", json!({})).reply.stdout, b"{}\n", "other events go on");
}

#[cfg(unix)]
fn link(workspace: &Workspace, at: &str, target: &std::path::Path) {
    let path = workspace.root().join(at);
    std::fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
    std::os::unix::fs::symlink(target, path).expect("a link");
}

#[cfg(unix)]
#[test]
fn nothing_is_written_through_links() {
    let places = [".ai/tmp", ".ai/tmp/ba7816bf", ".ai/tmp/ba7816bf/locks", ".ai/tmp/ba7816bf/guard"];
    for place in places {
        let workspace = Workspace::new();
        let outside = tempfile::tempdir().expect("a folder");
        link(&workspace, place, outside.path());
        let outcome = workspace.command("deny me", "1");
        workspace.command("write a file", "2");
        assert_eq!(outcome.report.map(|report| report.decision), Some(Decision::Deny), "{place}");
        assert_eq!(std::fs::read_dir(outside.path()).expect("readable").count(), 0, "{place}");
    }
}

#[cfg(unix)]
#[test]
fn a_log_or_state_that_is_a_link_is_left_alone() {
    for name in ["events.jsonl", "state.json", "p.jsonl", "locks/state", "locks/runs"] {
        let workspace = Workspace::new();
        let outside = tempfile::tempdir().expect("a folder");
        let target = outside.path().join("target");
        link(&workspace, &format!(".ai/tmp/ba7816bf/{name}"), &target);
        workspace.fire("UserPromptSubmit", json!({"prompt": "hi"}));
        workspace.command("ls", "1");
        assert!(!target.exists(), "{name}");
    }
}

#[cfg(unix)]
#[test]
fn ai_may_be_a_link_inside_the_workspace_but_not_out_of_it() {
    for (inside, expected) in [(true, true), (false, false)] {
        let workspace = Workspace::new();
        let outside = tempfile::tempdir().expect("a folder");
        let target = if inside { workspace.root().join("config") } else { outside.path().join("config") };
        std::fs::rename(workspace.root().join(".ai"), &target).expect("movable");
        std::os::unix::fs::symlink(&target, workspace.root().join(".ai")).expect("a link");
        let outcome = workspace.command("deny me", "1");
        assert_eq!(outcome.report.map(|report| report.decision), Some(Decision::Deny));
        assert_eq!(target.join("tmp").exists(), expected);
    }
}

#[test]
fn ids_that_climb_stay_below_the_work_folder() {
    let workspace = Workspace::new();
    for id in ["../../../etc/passwd", "/etc", "..", "a/b", "\u{0}", "C:\\x"] {
        let mut payload = workspace.payload("SubagentStart", json!({"agent_id": id, "agent_type": "../x"}));
        payload["session_id"] = json!(id);
        workspace.send(payload.to_string().as_bytes());
    }
    let top: Vec<String> = std::fs::read_dir(workspace.root())
        .expect("readable")
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    assert_eq!(top, [".ai"]);
    let short = |name: &str| name == "dispatch.log" || name.split('/').next().is_some_and(|sid| sid.len() == 8);
    assert!(workspace.files().iter().all(|file| short(file)), "{:?}", workspace.files());
}

#[test]
fn a_place_that_cannot_be_written_to_takes_no_answer_away() {
    let workspace = Workspace::new();
    workspace.write(".ai/tmp", "a file in the way of the folder");
    let denied = workspace.command("deny me", "1");
    assert_eq!(denied.report.map(|report| report.decision), Some(Decision::Deny));
    assert!(!denied.problems.is_empty());
    assert_eq!(workspace.fire("UserPromptSubmit", json!({"prompt": "x"})).reply.exit_code, 0);
}

#[test]
fn damaged_files_of_the_session_take_no_answer_away() {
    for (name, content) in [
        ("state.json", "{\"core\": {\"phase\": 7, \"lastTurnId\": -1, \"agents\": []}}"),
        ("events.jsonl", "\u{0}\u{0}\n{}\n[1]\n{\"turnId\":1,\"event\":\n"),
        ("locks/runs", "99999999999999999999999"),
        ("../exceptions.json", "{\"exceptions\": 7}"),
    ] {
        let workspace = Workspace::new();
        workspace.write(&format!(".ai/tmp/ba7816bf/{name}"), content);
        assert_eq!(
            workspace.command("deny me", "1").report.map(|report| report.decision),
            Some(Decision::Deny),
            "{name}"
        );
        assert_eq!(workspace.command("ls", "2").report.map(|report| report.decision), Some(Decision::Allow), "{name}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_get_one_json_object(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let workspace = Workspace::new();
        let outcome = workspace.send(&bytes);
        prop_assert!(serde_json::from_slice::<Value>(&outcome.reply.stdout).is_ok_and(|value| value.is_object()));
    }

    #[test]
    fn any_rules_get_one_json_object(manifest in ".{0,120}", config in ".{0,120}", state in ".{0,120}", log in ".{0,120}") {
        let workspace = Workspace::new();
        workspace.write(".ai/hooks/dispatch.manifest.json", &manifest);
        workspace.write(".ai/hooks/config.json", &config);
        workspace.write(".ai/tmp/ba7816bf/state.json", &state);
        workspace.write(".ai/tmp/ba7816bf/events.jsonl", &log);
        let outcome = workspace.command("ls", "1");
        prop_assert!(serde_json::from_slice::<Value>(&outcome.reply.stdout).is_ok_and(|value| value.is_object()));
    }
}

#[test]
fn json_that_is_too_deep_is_denied_with_a_code_of_its_own() {
    let workspace = Workspace::new();
    let deep = format!("{}1{}", "[".repeat(100), "]".repeat(100));
    let payload = workspace.payload("PreToolUse", json!({"tool_name": "mcp__x__y", "tool_use_id": "1"})).to_string();
    let payload = format!("{}, \"tool_input\": {{\"a\": {deep}}}}}", payload.trim_end_matches('}'));
    let report = workspace.send(payload.as_bytes()).report.expect("a report");
    assert_eq!((report.decision, report.code.as_deref()), (Decision::Deny, Some("PL01")));
}
