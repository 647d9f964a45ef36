//! Whole sessions seen by the journal.

use dispatch_hook_module::RecordType;
use dispatch_hook_module::testing::{TestInvocation, in_repo};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::memory::{
    CANDIDATES_FILE, CandidateKind, CommandSimilarity, FORGOTTEN_FILE, ForgottenCandidates, MemoryCandidate,
    parse_candidates, write_candidates,
};
use crate::modules::Session;
use crate::test_session::TestSession;

const MODULES: [&dyn Module; 2] = [&Session, &MemoryJournal];

fn stop(session: &mut TestSession) -> HookAction {
    session.step(TestInvocation::new(EventName::Stop), &MODULES).remove(1)
}

fn journal_of(session: &TestSession) -> Vec<ExperienceKind> {
    let text = session.file(JOURNAL, EXPERIENCE_FILE).unwrap_or_default();
    let lines = parse_experiences(text.as_bytes());
    assert_eq!(lines.len(), text.lines().count(), "every line is an entry of its own");
    lines.into_iter().map(|line| line.what).collect()
}

fn candidates_of(session: &TestSession) -> Vec<MemoryCandidate> {
    parse_candidates(session.file(JOURNAL, CANDIDATES_FILE).unwrap_or_default().as_bytes())
}

fn corrections(session: &TestSession) -> Vec<(String, String, CommandSimilarity)> {
    let correction = |what| match what {
        ExperienceKind::Correction { from, to, likeness, .. } => Some((from, to, likeness)),
        _ => None,
    };
    journal_of(session).into_iter().filter_map(correction).collect()
}

/// A module that refuses every call, as a guard would.
struct RefusingModule;

impl Module for RefusingModule {
    fn spec(&self) -> ModuleSpec<'_> {
        ModuleSpec { events: &EventName::KNOWN, priority: 10, hot_path_safe: true, ..ModuleSpec::named("refuses") }
    }

    fn handle(&self, _: &Context<'_>) -> Result<HookAction, ModuleError> {
        Ok(HookAction::deny("UB01", "It would delete the workspace."))
    }
}

#[test]
fn a_prompt_is_one_line_and_each_preference_another() {
    let mut session = TestSession::default();
    session.step(TestInvocation::prompt("Fix the parser.\nAlways run cargo fmt. Never use tabs."), &MODULES);
    let lines = journal_of(&session);
    assert!(
        matches!(&lines[0], ExperienceKind::Prompt { text: Some(text), chars: 53, .. } if text.starts_with("Fix the parser. Always")),
        "{lines:?}"
    );
    assert_eq!(lines[1], ExperienceKind::Preference { text: "Always run cargo fmt.".to_owned() });
    assert_eq!(lines[2], ExperienceKind::Preference { text: "Never use tabs.".to_owned() });
    assert_eq!(lines.len(), 3);
    assert_eq!(TestInvocation::prompt(" \n").handle(&MemoryJournal), HookAction::none());
}

#[test]
fn where_only_hashes_are_kept_no_text_of_a_prompt_is() {
    let scene =
        TestInvocation::prompt("Never mention Zanzibar.").file(".ai/hooks/config.json", r#"{"prompts": "hash"}"#);
    let action = scene.handle(&MemoryJournal);
    assert_eq!(action.files.len(), 1);
    assert!(!format!("{action:?}").contains("Zanzibar"));
    let line: Value = serde_json::from_str(action.files[0].content.trim()).expect("one line");
    assert_eq!((line["kind"].as_str(), line["chars"].as_u64(), line.get("text")), (Some("prompt"), Some(23), None));
}

#[test]
fn a_secret_is_gone_before_a_text_is_cut() {
    let token = format!("ghp_{}", "a1B2".repeat(9));
    for place in 0..80 {
        let prompt = format!("{} {token} and so on {}", "x ".repeat(place), "word ".repeat(60));
        let scene = TestInvocation::prompt(&prompt).config(json!({"textChars": 100}));
        let action = scene.handle(&MemoryJournal);
        assert!(!format!("{action:?}").contains("ghp_"), "{place}");
    }
    let own = TestInvocation::prompt(&format!("Never print ACME-12345678 {}", "x ".repeat(200)))
        .file(".ai/hooks/config.json", r#"{"redact": {"patterns": ["ACME-[0-9]{8}"]}}"#);
    assert!(!format!("{:?}", own.handle(&MemoryJournal)).contains("ACME-1"));
}

#[test]
fn texts_leave_the_module_in_files_alone() {
    let mut session = TestSession::default();
    let mut actions = session.step(TestInvocation::prompt("Never say Zanzibar aloud."), &[&MemoryJournal]);
    actions.extend(session.run("zanzibar --tset", 1, "Zanzibar is unknown", &[&MemoryJournal]));
    actions.extend(session.run("zanzibar --test", 0, "", &[&MemoryJournal]));
    actions.extend(session.step(TestInvocation::new(EventName::Stop), &[&MemoryJournal]));
    assert!(actions.iter().filter(|action| !action.files.is_empty()).count() >= 3);
    for mut action in actions {
        action.files.clear();
        action.state_patch = None;
        assert_eq!(action, HookAction::none());
    }
}

#[test]
fn a_failure_is_written_down_with_its_class() {
    let mut session = TestSession::default();
    session.run("cargo tset", 101, "error: no such command: `tset` (17)", &MODULES);
    let expected = ExperienceKind::Failure {
        tool: "Bash".to_owned(),
        program: "cargo".to_owned(),
        command: "cargo tset".to_owned(),
        error: "error: no such command: `tset` (##)".to_owned(),
    };
    assert_eq!(journal_of(&session), [expected]);
    session.call(
        "Edit",
        json!({"file_path": "/repo/src/a.rs"}),
        json!({"is_error": true, "error": "not found"}),
        &MODULES,
    );
    assert!(matches!(&journal_of(&session)[1], ExperienceKind::Failure { program, .. } if program == "Edit src/a.rs"));
}

#[test]
fn a_success_without_a_failure_before_it_costs_nothing() {
    let mut session = TestSession::default();
    let action = session.run("cargo test", 0, "", &MODULES).remove(1);
    assert_eq!(action, HookAction::none());
}

#[test]
fn a_success_after_a_failure_is_a_correction_once() {
    let mut session = TestSession::default();
    session.run("npm tset", 1, "unknown", &MODULES);
    session.run("ls", 0, "", &MODULES);
    session.run("npm test", 0, "", &MODULES);
    session.run("npm test", 0, "", &MODULES);
    assert_eq!(corrections(&session), [("npm tset".to_owned(), "npm test".to_owned(), CommandSimilarity::Close)]);
    assert_eq!(session.state.get("memory", "failing"), Some(&json!({})));
}

#[test]
fn an_unrelated_command_does_not_hide_the_correction() {
    let mut session = TestSession::default();
    session.run("git push", 1, "no upstream", &MODULES);
    session.run("git status", 0, "", &MODULES);
    session.run("git log", 0, "", &MODULES);
    session.run("git push -u origin main", 0, "", &MODULES);
    let expected = [
        ("git push", "git status", CommandSimilarity::Loose),
        ("git push", "git push -u origin main", CommandSimilarity::Close),
    ];
    assert_eq!(corrections(&session), expected.map(|(from, to, likeness)| (from.to_owned(), to.to_owned(), likeness)));
    stop(&mut session);
    let texts: Vec<String> = candidates_of(&session).into_iter().map(|candidate| candidate.text).collect();
    assert_eq!(texts, ["`git push` failed; `git push -u origin main` worked in its place."]);
}

#[test]
fn a_command_that_works_after_an_edit_was_not_wrong_itself() {
    let mut session = TestSession::default();
    session.run("cargo test", 101, "1 failed", &MODULES);
    session.call("Write", json!({"file_path": "/repo/src/a.rs", "content": ""}), json!({}), &MODULES);
    session.run("cargo test --lib", 0, "", &MODULES);
    assert_eq!(corrections(&session)[0].2, CommandSimilarity::Loose);
    session.run("cargo tset", 101, "unknown", &MODULES);
    session.run("cargo test", 0, "", &MODULES);
    assert_eq!(corrections(&session)[1].2, CommandSimilarity::Close);
}

#[test]
fn an_old_failure_is_not_corrected_by_chance() {
    let mut session = TestSession::default();
    session.run("npm tset", 1, "unknown", &MODULES);
    for _ in 0..4 {
        session.step(TestInvocation::prompt("go on"), &MODULES);
    }
    session.run("npm test", 0, "", &MODULES);
    assert_eq!(corrections(&session), []);
    assert_eq!(session.state.get("memory", "failing"), Some(&json!({})));
}

#[test]
fn refused_calls_are_found_in_the_log_and_written_down_once() {
    let mut session = TestSession::default();
    session.step(TestInvocation::command("rm -rf ."), &[&Session, &RefusingModule]);
    stop(&mut session);
    let denials = |session: &TestSession| {
        journal_of(session).into_iter().filter(|what| matches!(what, ExperienceKind::Denial { .. })).collect::<Vec<_>>()
    };
    assert!(
        matches!(&denials(&session)[..], [ExperienceKind::Denial { code, tool, .. }] if code == "UB01" && tool == "Bash")
    );
    let found = candidates_of(&session);
    assert_eq!((found[0].kind, found[0].count), (CandidateKind::Hazard, 1));
    assert_eq!(
        session.view.records.iter().find(|record| record.id == found[0].evidence[0]).map(|record| &record.kind),
        Some(&RecordType::HookRun)
    );
    stop(&mut session);
    assert_eq!(denials(&session).len(), 1);
}

#[test]
fn stopping_twice_changes_nothing() {
    let mut session = TestSession::default();
    session.step(TestInvocation::prompt("Always run cargo fmt."), &MODULES);
    session.run("npm tset", 1, "unknown", &MODULES);
    session.run("npm test", 0, "", &MODULES);
    session.step(TestInvocation::command("rm -rf ."), &[&Session, &RefusingModule]);
    stop(&mut session);
    let files = session.view.files.clone();
    assert_eq!(candidates_of(&session).len(), 3);
    let second = stop(&mut session);
    assert_eq!(second, HookAction::none());
    assert_eq!(session.view.files, files);
}

#[test]
fn evidence_are_records_of_the_log() {
    let mut session = TestSession::default();
    session.step(TestInvocation::prompt("Always run cargo fmt."), &MODULES);
    stop(&mut session);
    let found = candidates_of(&session);
    let record = session.view.records.iter().find(|record| record.id == found[0].evidence[0]).expect("in the log");
    assert_eq!(record.kind, RecordType::Prompt);
}

#[test]
fn other_sessions_are_joined_and_the_forgotten_stay_away() {
    let mut session = TestSession::default();
    session.step(TestInvocation::prompt("Always run cargo fmt."), &MODULES);
    stop(&mut session);
    let own = candidates_of(&session).remove(0);
    let same = MemoryCandidate { evidence: vec!["OTHER1".to_owned()], ..own.clone() };
    let other = MemoryCandidate::new(CandidateKind::Hazard, &["x"], "Mind the gap.", "OTHER2");
    let gone = MemoryCandidate::new(CandidateKind::Hazard, &["gone"], "Forget me.", "OTHER3");
    let file = write_candidates(&[same, other.clone(), gone.clone()]);
    session.view.files.insert(in_repo(".ai/tmp/ffffffff/memory-journal/output/candidates.json"), file.into_bytes());
    session.view.files.insert(
        in_repo(".ai/tmp/").join(FORGOTTEN_FILE),
        ForgottenCandidates::default().with(&gone.id).write().into_bytes(),
    );
    stop(&mut session);
    let found = candidates_of(&session);
    assert_eq!(
        found.iter().map(|candidate| (candidate.id.as_str(), candidate.count)).collect::<Vec<_>>(),
        [(own.id.as_str(), 2), (other.id.as_str(), 1)]
    );
    assert_eq!(stop(&mut session), HookAction::none());
}

#[test]
fn a_journal_that_is_too_large_is_left_alone() {
    let mut session = TestSession::default();
    let file = TestInvocation::new(EventName::Stop).paths.module_output(JOURNAL).join(EXPERIENCE_FILE);
    session.view.files.insert(file, vec![b'\n'; usize::try_from(EXPERIENCE_LIMIT_BYTES).expect("small") + 1]);
    session.step(TestInvocation::command("rm -rf ."), &[&Session, &RefusingModule]);
    assert_eq!(stop(&mut session), HookAction::none());
}

#[test]
fn it_stays_off_the_hot_path() {
    assert!(!MemoryJournal.spec().hot_path_safe && !MemoryJournal.spec().critical);
    let seen: Vec<EventName> =
        EventName::KNOWN.into_iter().filter(|event| MemoryJournal.spec().handles(event)).collect();
    assert_eq!(seen, [EventName::UserPromptSubmit, EventName::PostToolUse, EventName::Stop]);
}

fn any_record() -> impl Strategy<Value = (RecordType, Value)> {
    let kinds = RecordType::KNOWN.to_vec();
    let leaf = prop_oneof![
        Just(json!(null)),
        Just(json!(true)),
        Just(json!("deny")),
        Just(json!(7)),
        Just(json!(["x"])),
        "\\PC{0,8}".prop_map(Value::from)
    ];
    let key = proptest::sample::select(vec![
        "decision",
        "tool",
        "toolUseId",
        "paths",
        "ok",
        "code",
        "kind",
        "text",
        "commandHash",
        "rule",
        "node",
    ]);
    let data = proptest::collection::vec((key, leaf), 0..6)
        .prop_map(|pairs| Value::Object(pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()));
    (proptest::sample::select(kinds), prop_oneof![data, Just(json!([])), Just(json!("x"))])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_log_and_any_journal_can_be_read(
        records in proptest::collection::vec(any_record(), 0..20),
        journal in "(\\{\"id\":\"a\",\"kind\":\"failure\"\\}|\\PC|\n|\\{|\\}){0,20}",
        state in prop_oneof![Just(json!(null)), Just(json!({"memory": 1})), Just(json!({"memory": {"failing": {"ls": "x", "cat": 7}}}))],
    ) {
        let file = ".ai/tmp/a3f0c812/memory-journal/output/experience.jsonl";
        for scene in [TestInvocation::new(EventName::Stop), TestInvocation::command("ls").with(|scene| scene.event.name = EventName::PostToolUse)] {
            let scene = records.iter().fold(scene, |scene, (kind, data)| scene.record(kind.clone(), data.clone()));
            prop_assert!(scene.file(file, journal.clone()).state(state.clone()).try_handle(&MemoryJournal).is_ok());
        }
    }
}
