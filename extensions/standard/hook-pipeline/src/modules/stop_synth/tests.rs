//! Whole sessions and the files they come to.

use dispatch_hook_module::RecordType;
use dispatch_hook_module::testing::{TestInvocation, in_repo};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::modules::{MemoryJournal, Session};
use crate::test_session::TestSession;

const MODULES: [&dyn Module; 3] = [&Session, &MemoryJournal, &StopSynth];
const BEFORE_STOP: [&dyn Module; 2] = [&Session, &MemoryJournal];

fn stop(session: &mut TestSession) -> HookAction {
    session.step(TestInvocation::new(EventName::Stop), &MODULES).remove(2)
}

fn ask(session: &mut TestSession, prompt: &str) {
    session.step(TestInvocation::prompt(prompt), &BEFORE_STOP);
}

fn write(session: &mut TestSession, path: &str) {
    let input = json!({"file_path": format!("/repo/{path}"), "content": ""});
    session.call("Write", input, json!({}), &BEFORE_STOP);
}

/// A fact that another module put on record.
fn fact(session: &mut TestSession, kind: RecordType, data: Value) {
    struct FactModule(RecordType, Value);
    impl Module for FactModule {
        fn spec(&self) -> ModuleSpec<'_> {
            ModuleSpec { events: &EventName::KNOWN, priority: 1, hot_path_safe: true, ..ModuleSpec::named("says") }
        }

        fn handle(&self, _: &Context<'_>) -> Result<HookAction, ModuleError> {
            let action = HookAction::none();
            Ok(if self.0 == RecordType::HookRun {
                HookAction::deny("UB01", "Too wide.")
            } else {
                action.with_record(self.0.clone(), self.1.clone())
            })
        }
    }
    let command = if kind == RecordType::HookRun { "rm -rf /" } else { "true" };
    let scene = TestInvocation::command(command).with(|scene| scene.event.tool_use_id = Some("refused".to_owned()));
    session.step(scene, &[&Session, &FactModule(kind, data)]);
}

fn section(session: &TestSession, title: &str) -> String {
    let summary = session.file("stop-synth", SUMMARY_FILE).expect("a summary");
    let start = summary.find(&format!("## {title}\n\n")).expect("the section");
    let body = &summary[start..].split_once("\n\n").expect("a body").1;
    body.split("\n\n## ").next().unwrap_or_default().trim_end().to_owned()
}

fn drafts(session: &TestSession) -> Vec<String> {
    session.names("stop-synth").into_iter().filter_map(|name| name.strip_prefix("adr/").map(str::to_owned)).collect()
}

#[test]
fn an_empty_session_has_an_empty_summary() {
    let action = TestInvocation::new(EventName::Stop).handle(&StopSynth);
    assert_eq!(action.files.len(), 1);
    assert_eq!(action.files[0].content.matches("None.").count(), 6);
    assert!(action.files[0].content.starts_with("# Summary of session a3f0c812\n\n## Asked\n"));
}

#[test]
fn the_summary_tells_the_session() {
    let mut session = TestSession::default();
    ask(&mut session, "Add a cache.\nThen document it.");
    fact(&mut session, RecordType::IntentSelected, json!({"intent": "INT-001"}));
    write(&mut session, "src/cache.rs");
    write(&mut session, "src/cache.rs");
    fact(&mut session, RecordType::IntentCleared, json!({}));
    write(&mut session, "README.md");
    session.run("rm notes.txt", 0, "", &BEFORE_STOP);
    session.call(
        "Write",
        json!({"file_path": "/repo/failed.rs", "content": ""}),
        json!({"is_error": true, "error": "x"}),
        &BEFORE_STOP,
    );
    fact(&mut session, RecordType::HookRun, json!({}));
    fact(&mut session, RecordType::HookRun, json!({}));
    stop(&mut session);
    assert_eq!(section(&session, "Asked"), "- Turn 1: Add a cache. Then document it.");
    assert_eq!(
        section(&session, "Done"),
        "- INT-001: 1 file, 2 changes\n  - `src/cache.rs`: 2 changes\n\
         - No intent: 2 files, 2 changes\n  - `README.md`: 1 change\n  - `notes.txt`: 1 change, deleted"
    );
    assert_eq!(section(&session, "Denials"), "- UB01, Bash, 2 times: Too wide.");
}

#[test]
fn commands_that_failed_are_told_with_their_end() {
    let mut session = TestSession::default();
    ask(&mut session, "test");
    session.run("npm tset", 1, "unknown command", &BEFORE_STOP);
    session.run("npm tset", 1, "unknown command", &BEFORE_STOP);
    session.run("npm test", 0, "", &BEFORE_STOP);
    session.run("cargo test", 101, "failed.", &BEFORE_STOP);
    write(&mut session, "src/a.rs");
    session.run("cargo test", 0, "", &BEFORE_STOP);
    session.run("git push", 1, "no upstream", &BEFORE_STOP);
    session.run("git status", 0, "", &BEFORE_STOP);
    session.run("make all", 2, "boom", &BEFORE_STOP);
    stop(&mut session);
    assert_eq!(
        section(&session, "Commands that failed"),
        "- `npm tset`, 2 times: unknown command. `npm test` worked in its place.\n\
         - `cargo test`, 1 time: failed. It worked later.\n\
         - `git push`, 1 time: no upstream. Then `git status` worked.\n\
         - `make all`, 1 time: boom. It has not worked since."
    );
    assert_eq!(section(&session, "Open ends"), "- `make all` still fails.");
}

#[test]
fn without_a_journal_failures_are_told_by_their_tool() {
    let mut session = TestSession::default();
    session.run("make", 2, "boom", &[&Session]);
    session.run("make", 0, "", &[&Session]);
    session.step(TestInvocation::new(EventName::Stop), &[&Session, &StopSynth]);
    assert_eq!(section(&session, "Commands that failed"), "- `Bash`, 1 time: boom. It worked later.");
}

fn node(id: &str, title: &str) -> Value {
    json!({"id": id, "title": title, "scope": ["src/**"], "dependsOn": []})
}

fn plan(session: &mut TestSession, nodes: Value, status: Value) {
    session.view.files.insert(in_repo("plan.json"), json!({"version": 1, "nodes": nodes}).to_string().into_bytes());
    session.state = dispatch_hook_module::state::SessionState::from_value(
        json!({"plan": {"currentPath": "plan.json", "nodes": status}}),
    );
    fact(session, RecordType::PlanAccepted, json!({}));
}

#[test]
fn the_plan_and_what_is_owed_are_open_ends() {
    let mut session = TestSession::default();
    let nodes = json!([node("n1", "One"), node("n2", "Two"), node("n3", "Three")]);
    plan(&mut session, nodes, json!({"n1": "completed", "n2": "failed"}));
    fact(&mut session, RecordType::RlmRequired, json!({"rule": "big-search"}));
    fact(&mut session, RecordType::RlmRequired, json!({"rule": "met"}));
    fact(&mut session, RecordType::RlmSatisfied, json!({"rule": "met"}));
    stop(&mut session);
    assert_eq!(
        section(&session, "Plan progress"),
        "1 of 3 nodes completed.\n\n- [x] `n1`: One (completed)\n- [ ] `n2`: Two (failed)\n- [ ] `n3`: Three (pending)"
    );
    assert_eq!(
        section(&session, "Open ends"),
        "- Plan node `n2` is failed.\n- Plan node `n3` is pending.\n- `big-search` is required and not delivered."
    );
}

#[test]
fn every_source_of_decisions_gives_a_draft() {
    let mut session = TestSession::default();
    let marked = json!([
        {"id": "n1", "title": "Pick the store", "decision": "SQLite in one file.", "scope": ["src/**"], "validations": ["cargo test"], "dependsOn": []},
        node("n2", "Plain work"),
        {"id": "n3", "title": "Choose a name", "decision": true, "scope": ["src/**"], "dependsOn": []},
        {"id": "n4", "title": "Decided elsewhere", "decision": false, "scope": ["src/**"], "dependsOn": []},
    ]);
    plan(&mut session, marked, json!({"n1": "completed"}));
    ask(&mut session, "Let's go with SQLite for the cache. Then add it.");
    write(&mut session, "Cargo.toml");
    write(&mut session, "crates/a/Cargo.toml");
    write(&mut session, "api/user.proto");
    write(&mut session, "src/main.rs");
    stop(&mut session);
    assert_eq!(
        drafts(&session),
        [
            "0001-plan-n1-pick-the-store.md",
            "0002-plan-n3-choose-a-name.md",
            "0003-let-s-go-with-sqlite-for-the-cache.md",
            "0004-dependencies-in-cargo-toml.md",
            "0005-change-of-protocol-definitions.md",
        ]
    );
    let file = |name: &str| session.file("stop-synth", &format!("adr/{name}")).expect("a draft");
    let store = file("0001-plan-n1-pick-the-store.md");
    for part in [
        "# 0001. Pick the store\n\nStatus: draft\n",
        "## Context\n\n- Node `n1` of the plan, completed.\n- Scope: `src/**`\n",
        "## Decision\n\nSQLite in one file.\n",
        "## Consequences\n\n- Checked by `cargo test`.\n",
        "## Evidence\n\n- [PLAN_ACCEPTED ",
    ] {
        assert!(store.contains(part), "{part} in {store}");
    }
    let manifest = file("0004-dependencies-in-cargo-toml.md");
    assert!(
        manifest.contains("- Asked: Let's go with SQLite") && manifest.contains("- Changed: `crates/a/Cargo.toml`"),
        "{manifest}"
    );
    assert_eq!(manifest.matches("(../../../events.jsonl), turn 1").count(), 2);
    assert!(
        file("0003-let-s-go-with-sqlite-for-the-cache.md")
            .contains("## Decision\n\nLet's go with SQLite for the cache.\n")
    );
}

#[test]
fn a_decision_late_in_a_long_prompt_is_found() {
    let mut session = TestSession::default();
    ask(&mut session, &format!("{}\nWe decided to use UTC everywhere.", "some words ".repeat(200)));
    stop(&mut session);
    assert_eq!(drafts(&session), ["0001-we-decided-to-use-utc-everywhere.md"]);
}

#[test]
fn a_plan_that_nobody_accepted_gives_no_draft() {
    let text =
        json!({"version": 1, "nodes": [{"id": "a", "title": "x", "scope": ["a"], "dependsOn": [], "decision": true}]})
            .to_string();
    let scene =
        TestInvocation::new(EventName::Stop).state(json!({"plan": {"currentPath": "p.json"}})).file("p.json", text);
    assert_eq!(scene.handle(&StopSynth).files.len(), 1);
    assert_eq!(scene.record(RecordType::PlanAccepted, json!({})).handle(&StopSynth).files.len(), 2);
}

#[test]
fn a_second_delivery_is_no_second_denial() {
    let denied = |again: bool| json!({"decision": "deny", "code": "UB01", "tool": "Bash", "reason": "No.", "redelivered": again});
    let scene = TestInvocation::new(EventName::Stop)
        .record(RecordType::HookRun, denied(false))
        .record(RecordType::HookRun, denied(true));
    let scene =
        scene.with(|scene| scene.view.records.iter_mut().for_each(|record| record.event = "PreToolUse".to_owned()));
    assert!(scene.handle(&StopSynth).files[0].content.contains("- UB01, Bash, 1 time: No."));
}

#[test]
fn stopping_twice_gives_the_same_files() {
    let mut session = TestSession::default();
    ask(&mut session, "We decided to use UTC everywhere.");
    write(&mut session, "package.json");
    session.run("npm tset", 1, "unknown", &BEFORE_STOP);
    fact(&mut session, RecordType::HookRun, json!({}));
    let first = stop(&mut session);
    let files = session.view.files.clone();
    assert_eq!((drafts(&session).len(), first.register_artifacts.len()), (2, 3));
    let second = stop(&mut session);
    assert_eq!(session.view.files, files);
    assert_eq!(second.register_artifacts, [], "what is there was registered before");
    assert_eq!(second.files, first.files);
}

#[test]
fn numbers_stay_when_more_is_decided_and_depend_on_evidence_alone() {
    let mut often = TestSession::default();
    let mut once = TestSession::default();
    for (index, path) in ["z/go.mod", "package.json", "a.proto", "Cargo.toml"].into_iter().enumerate() {
        for session in [&mut often, &mut once] {
            ask(session, &format!("Step {index}"));
            write(session, path);
        }
        stop(&mut often);
    }
    stop(&mut once);
    assert_eq!(drafts(&often), drafts(&once));
    assert_eq!(drafts(&often)[0], "0001-dependencies-in-go-mod.md");
    often.view.records.drain(..8);
    stop(&mut often);
    assert_eq!(drafts(&often), drafts(&once), "numbers stay when the log no longer reaches back");
}

#[test]
fn a_draft_that_the_user_accepted_is_left_alone() {
    let mut session = TestSession::default();
    ask(&mut session, "We decided to use UTC everywhere.");
    stop(&mut session);
    let name = format!("adr/{}", drafts(&session)[0]);
    let path = TestInvocation::new(EventName::Stop).paths.module_output("stop-synth").join(&name);
    session.view.files.insert(path.clone(), b"# 0001. UTC\n\nStatus: accepted\n".to_vec());
    let action = stop(&mut session);
    assert!(action.files.iter().all(|file| file.path != name));
    assert_eq!(session.view.files[&path], b"# 0001. UTC\n\nStatus: accepted\n");
}

#[test]
fn the_same_decision_stated_twice_is_one_draft() {
    let mut session = TestSession::default();
    ask(&mut session, "We decided to use UTC everywhere.");
    ask(&mut session, "As I said, we decided to use UTC everywhere. WE DECIDED to use UTC everywhere!");
    stop(&mut session);
    assert_eq!(drafts(&session).len(), 2);
    let first = session.file("stop-synth", "adr/0001-we-decided-to-use-utc-everywhere.md").expect("a draft");
    assert_eq!(first.matches("[PROMPT ").count(), 2);
}

#[test]
fn own_path_rules_take_the_place_of_the_built_in_ones() {
    let config = json!({"manifests": [], "interfaces": [{"name": "Public API", "paths": ["src/api/**"]}]});
    let call = |path: &str| json!({"paths": [{"path": path, "access": "write"}]});
    let scene = TestInvocation::new(EventName::Stop)
        .config(config)
        .record(RecordType::ToolCall, call("/repo/src/api/v1/user.rs"))
        .record(RecordType::ToolCall, call("/repo/Cargo.toml"));
    let paths: Vec<String> = scene.handle(&StopSynth).files.into_iter().map(|file| file.path).collect();
    assert_eq!(paths, ["summary.md", "adr/0001-change-of-public-api.md"]);
}

#[test]
fn slugs_are_short_file_names() {
    let table = [
        ("Dependencies in Cargo.toml", "dependencies-in-cargo-toml"),
        ("../../etc/passwd", "etc-passwd"),
        ("Don't panic!", "don-t-panic"),
    ];
    for (title, expected) in table {
        assert_eq!(drafts::slug(title), expected);
    }
    assert!(drafts::slug("日本語").starts_with("decision-"));
    assert!(drafts::slug(&"word ".repeat(100)).len() <= 48);
    assert!(drafts::slug(&"x".repeat(100)).starts_with("decision-"));
}

#[test]
fn texts_leave_the_module_in_files_alone() {
    let mut session = TestSession::default();
    ask(&mut session, "We decided to move to Zanzibar.");
    let mut action = stop(&mut session);
    assert!(action.files.iter().all(|file| file.content.contains("Zanzibar")));
    action.files.clear();
    assert!(action.register_artifacts.iter().all(|artifact| artifact.path.starts_with("stop-synth/output/")));
    action.register_artifacts.clear();
    assert_eq!(action, HookAction::none());
}

#[test]
fn a_long_session_has_a_bounded_summary() {
    let mut scene = TestInvocation::new(EventName::Stop);
    for index in 0..500 {
        scene = scene
            .record(RecordType::Prompt, json!({"text": format!("We decided on number {index}. {}", "x ".repeat(500))}));
    }
    let action = scene.handle(&StopSynth);
    assert!(action.files[0].content.contains("- and 400 more"));
    assert!(action.files[0].content.len() < 64 * 1024);
    assert_eq!(action.files.len(), 51);
}

fn any_data() -> impl Strategy<Value = Value> {
    let path = prop_oneof![
        Just(json!("/repo/Cargo.toml")),
        Just(json!("/repo/../x")),
        Just(json!(7)),
        "\\PC{0,8}".prop_map(Value::from)
    ];
    let paths = proptest::collection::vec(path, 0..3).prop_map(|paths| {
        json!(paths.into_iter().map(|path| json!({"path": path, "access": "write"})).collect::<Vec<_>>())
    });
    let text = "(We decided to use|\\.| |é|`|\n|#|[a-z]){0,12}".prop_map(Value::from);
    let object = (paths, text, any::<bool>()).prop_map(|(paths, text, ok)| {
        json!({"paths": paths, "text": text, "ok": ok, "kind": "execute", "toolUseId": "c", "error": text, "intent": text, "decision": "deny", "node": text})
    });
    prop_oneof![object, Just(json!(null)), Just(json!([1]))]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_log_has_a_summary_and_the_same_one_twice(
        records in proptest::collection::vec((proptest::sample::select(RecordType::KNOWN.to_vec()), any_data()), 0..20),
        plan in prop_oneof![Just("{}".to_owned()), Just(r#"{"version": 1, "nodes": [{"id": "a", "title": "../x", "scope": ["a"], "dependsOn": [], "decision": true}]}"#.to_owned()), "\\PC{0,20}"],
    ) {
        let scene = TestInvocation::new(EventName::Stop).state(json!({"plan": {"currentPath": "p.json"}})).file("p.json", plan);
        let scene = records.into_iter().fold(scene, |scene, (kind, data)| scene.record(kind, data));
        let first = scene.handle(&StopSynth);
        prop_assert!(first.files.iter().all(|file| !file.path.contains("..")));
        let written = first.files.iter().fold(scene, |scene, file| {
            scene.file(&format!(".ai/tmp/a3f0c812/stop-synth/output/{}", file.path), file.content.clone())
        });
        prop_assert_eq!(written.handle(&StopSynth).files, first.files);
    }
}
