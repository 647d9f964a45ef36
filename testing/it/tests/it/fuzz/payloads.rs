//! What hosts write to standard input, for every dialect and event, damaged in every way.

use super::answer_check::{FiredEvent, check_answer};
use super::fuzz;
use super::payload_generator::PayloadGenerator;
use dispatch_hook_dialects::dialect;
use dispatch_support::TestContext;
use std::path::{Path, PathBuf};

/// Every module is on and none is short of time.
pub(super) const MANIFEST: &str = r#"{"version": 1, "enforcePhases": false, "modules": ["session", "self-guard",
    "graph-pretooluse", "planGraph-exec", "plan-subagent-contract", "rlm-work", "memory-journal", "memory-activation",
    "stop-synth"], "budgets": {"SessionStart": 60000, "UserPromptSubmit": 60000, "PreToolUse": 60000,
    "PostToolUse": 60000, "PreCompact": 60000, "Stop": 60000, "SubagentStart": 60000, "SubagentStop": 60000}}"#;

/// Payloads that hosts really send.
pub(super) fn fixtures() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../platform/hook-dialects/testdata/fixtures");
    let mut files = Vec::new();
    collect(&folder, &mut files);
    files.sort();
    assert!(files.len() > 100, "the fixtures are gone");
    files.iter().map(|file| std::fs::read(file).unwrap()).collect()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        let answers = path.ends_with("out") || path.ends_with("config");
        if path.is_dir() && !answers {
            collect(&path, files);
        } else if path.extension().is_some_and(|kind| kind == "json") && !path.ends_with("INDEX.json") {
            files.push(path);
        }
    }
}

/// A host and one of its events, or a name that is none.
pub(super) fn host_and_event(generator: &mut PayloadGenerator) -> (&'static str, String) {
    let support = generator.one_of(&dialect::ALL).support();
    let event = match generator.below(10) {
        0 => "Unheard".to_owned(),
        _ => generator.one_of(support.events).host_event.to_owned(),
    };
    (support.id, event)
}

/// A new place now and then, so that no case drowns in what the others left.
pub(super) fn place(generator: &mut PayloadGenerator, last: &mut Option<TestContext>) {
    if last.is_none() || generator.happens(2) {
        let context = TestContext::new();
        context.write(".ai/hooks/dispatch.manifest.json", MANIFEST);
        *last = Some(context);
    }
}

#[test]
fn any_payload_of_any_host_gets_a_valid_answer() {
    let fixtures = fixtures();
    let context = std::sync::Mutex::new(None);
    fuzz(2_000, move |generator| {
        let mut context = context.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        place(generator, &mut context);
        let (host, event) = host_and_event(generator);
        let valid = generator.one_of(&fixtures);
        let stdin = generator.nonsense(valid);
        check_answer(context.as_ref().unwrap(), &FiredEvent { host, event: &event, stdin: &stdin });
    });
}

#[test]
fn every_host_answers_every_event_whatever_is_wrong_with_all_of_its_fields() {
    let keys = [
        "session_id",
        "sessionId",
        "hook_event_name",
        "tool_name",
        "toolName",
        "tool_input",
        "toolArgs",
        "tool_response",
        "cwd",
        "prompt",
        "agent_id",
        "agent_type",
        "transcript_path",
        "tool_use_id",
        "stop_hook_active",
        "timestamp",
        "workspace_roots",
        "tool_info",
        "event",
        "input",
        "output",
        "preToolUse",
        "error",
        "permission_mode",
    ];
    let pairs: Vec<(&str, &str)> = dialect::ALL
        .iter()
        .flat_map(|dialect| dialect.support().events.iter().map(|row| (dialect.support().id, row.host_event)))
        .collect();
    let context = std::sync::Mutex::new(None);
    let turn = std::sync::atomic::AtomicUsize::new(0);
    fuzz(pairs.len() as u64 * 3, move |generator| {
        let mut context = context.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        place(generator, &mut context);
        let (host, event) = pairs[turn.fetch_add(1, std::sync::atomic::Ordering::Relaxed) % pairs.len()];
        let fields = keys.iter().map(|key| ((*key).to_owned(), generator.value(2)));
        let payload = serde_json::Value::Object(fields.collect());
        check_answer(context.as_ref().unwrap(), &FiredEvent { host, event, stdin: payload.to_string().as_bytes() });
    });
}
