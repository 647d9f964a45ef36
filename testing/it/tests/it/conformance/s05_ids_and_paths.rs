//! Section 5: the form of every id, and the place of every file.

use super::workspace::{HOST_SESSION, PipelineWorkspace, SID, sha256_hex};
use serde_json::{Value, json};

/// Letters that stand for themselves; `9` is a digit and `f` a lowercase hex digit.
pub(crate) fn looks_like(text: &Value, pattern: &str) -> bool {
    let text = text.as_str().unwrap_or_default();
    text.len() == pattern.len()
        && text.bytes().zip(pattern.bytes()).all(|(byte, wanted)| match wanted {
            b'9' => byte.is_ascii_digit(),
            b'f' => byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte),
            _ => byte == wanted,
        })
}

#[test]
fn s05_1_the_session_id_is_eight_hex_digits_of_the_hosts_own() {
    let workspace = PipelineWorkspace::with(&["session"]);
    workspace.fire("SessionStart", &json!({}));
    assert_eq!(SID, &sha256_hex(HOST_SESSION)[..8]);
    assert_eq!(workspace.last_run()["sessionId"], SID);
    assert!(looks_like(&workspace.last_run()["sessionId"], "ffffffff"));
}

#[test]
fn s05_1_without_a_session_id_the_transcript_or_the_folder_stands_in() {
    let workspace = PipelineWorkspace::with(&["session"]);
    let mut payload = workspace.payload("Stop", &json!({"transcript_path": HOST_SESSION}));
    payload.as_object_mut().unwrap().remove("session_id");
    workspace.raw("Stop", payload.to_string().as_bytes());
    assert_eq!(workspace.of_type("STOP").len(), 1, "named by the transcript");
    payload.as_object_mut().unwrap().remove("transcript_path");
    for _ in 0..2 {
        workspace.raw("Stop", payload.to_string().as_bytes());
    }
    let sessions = std::fs::read_dir(workspace.context.project().join(".ai/tmp")).unwrap().flatten();
    assert_eq!(sessions.filter(|entry| entry.path().is_dir()).count(), 2, "one more, the same both times");
}

#[test]
fn s05_1_the_work_id_counts_up_when_new_work_begins() {
    let workspace = PipelineWorkspace::with(&["session"]);
    let mut seen = Vec::new();
    for prompt in ["one", "go on", "/new another", "/newer is a word"] {
        workspace.prompt(prompt);
        seen.push(workspace.last_run()["workId"].clone());
    }
    assert_eq!(seen, ["w001", "w001", "w002", "w002"]);
    workspace.configure(&json!({"session": {"newWorkOn": ["^next:"]}}));
    workspace.prompt("next: something");
    assert_eq!(workspace.last_run()["workId"], "w003");
}

#[test]
fn s05_1_the_main_agent_is_u00_and_subagents_count_up() {
    let workspace = PipelineWorkspace::with(&["session"]);
    workspace.bash("ls");
    assert_eq!(workspace.last_run()["agentId"], "u00");
    for (host_id, id) in [("x", "a01"), ("y", "a02"), ("x", "a01")] {
        workspace.fire("SubagentStart", &json!({"agent_id": host_id, "agent_type": "Plan"}));
        assert_eq!(workspace.last_run()["agentId"], id);
    }
    let call = json!({"tool_name": "Bash", "tool_input": {"command": "ls"}, "agent_id": "y"});
    workspace.fire("PreToolUse", &call);
    assert_eq!(workspace.last_run()["agentId"], "a02", "calls of a subagent carry its id");
}

#[test]
fn s05_1_the_turn_counts_prompts() {
    let workspace = PipelineWorkspace::with(&["session"]);
    workspace.bash("ls");
    assert_eq!(workspace.last_run()["turnId"], 0);
    for turn in 1..=3 {
        workspace.prompt("p");
        workspace.bash("ls");
        assert_eq!(workspace.last_run()["turnId"], turn);
    }
}

#[test]
fn s05_1_the_run_id_names_event_turn_and_milliseconds() {
    let workspace = PipelineWorkspace::with(&["session"]);
    workspace.prompt("p");
    workspace.bash("ls");
    let run = workspace.last_run();
    assert!(looks_like(&run["hookRunId"], "PreToolUse-1-9999999999999"), "{run}");
    let ids: std::collections::BTreeSet<String> =
        workspace.of_type("HOOK_RUN").iter().map(|run| run["hookRunId"].to_string()).collect();
    assert_eq!(ids.len(), 2);
}

/// Every file that a session with all modules may leave, as patterns with `*` for one name.
const LAYOUT: [&str; 14] = [
    "dispatch.log",
    "*/state.json",
    "*/events.jsonl",
    "*/p.jsonl",
    "*/registry.jsonl",
    "*/*/logs/debug.log",
    "*/locks/*",
    "*/plan-subagent-contract/output/sa/*/*/*",
    "*/rlm-work/output/sa/*/*/*",
    "*/memory-journal/output/experience.jsonl",
    "*/memory-journal/output/candidates.json",
    "*/stop-synth/output/summary.md",
    "*/stop-synth/output/adr/*",
    "*/planGraph-exec/output/planGraph.json",
];

fn fits(path: &str, pattern: &str) -> bool {
    let (path, pattern): (Vec<_>, Vec<_>) = (path.split('/').collect(), pattern.split('/').collect());
    path.len() == pattern.len() && path.iter().zip(pattern).all(|(name, wanted)| wanted == "*" || *name == wanted)
}

#[test]
fn s05_2_every_file_has_its_place_and_a_path_that_windows_bears() {
    let workspace = PipelineWorkspace::with(&ALL_MODULES);
    workspace.whole_session();
    let files = workspace.files(".ai/tmp");
    for file in &files {
        assert!(LAYOUT.iter().any(|pattern| fits(file, pattern)), "{file} has no place");
        assert!(".ai/tmp/".len() + file.len() <= 100, "{file} is too long");
    }
    for made in ["state.json", "events.jsonl", "p.jsonl", "stop-synth/output/summary.md"] {
        assert!(files.contains(&format!("{SID}/{made}")), "{made} in {files:?}");
    }
    assert!(files.contains("dispatch.log"));
}

/// Every module that the contract lists.
pub(crate) const ALL_MODULES: [&str; 8] = [
    "session",
    "graph-pretooluse",
    "planGraph-exec",
    "plan-subagent-contract",
    "rlm-work",
    "memory-journal",
    "memory-activation",
    "stop-synth",
];
