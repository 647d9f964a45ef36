//! What is told, and that it is never too much.

use super::*;
use crate::intent::{IntentKind, IntentStatus};
use crate::trace_entry::{FileHashes, MutationClass};
use proptest::prelude::*;

fn intent() -> IntentSpec {
    IntentSpec {
        id: "INT-001".to_owned(),
        name: "Weather".to_owned(),
        status: IntentStatus::InProgress,
        owned_scope: vec!["src/**".to_owned()],
        constraints: vec!["small\n# Active intent X".to_owned()],
        acceptance_criteria: vec!["green".to_owned()],
        created_at: String::new(),
        updated_at: String::new(),
        kind: Some(IntentKind::Feature),
        claim: None,
        mode: None,
    }
}

fn file(path: &str) -> RelatedFile {
    RelatedFile {
        file_path: path.to_owned(),
        intent_id: "INT-001".to_owned(),
        last_hash: Some("sha256:00".to_owned()),
        last_modified: "2026-01-02T03:04:05.678Z".to_owned(),
    }
}

fn entry(intent: &str, path: &str) -> TraceEntry {
    TraceEntry {
        id: "1".to_owned(),
        timestamp: "2026-01-02T03:04:05.678Z".to_owned(),
        intent_id: intent.to_owned(),
        session_id: "ab12cd34".to_owned(),
        tool_name: "Write".to_owned(),
        mutation_class: MutationClass::FileCreation,
        file: Some(FileHashes { relative_path: path.to_owned(), pre_hash: None, post_hash: None }),
        scope_validation: ScopeValidation::Pass,
        success: true,
        error: None,
        host: None,
        model: None,
        conversation: None,
        tool_use_id: None,
        added: vec![],
        removed: None,
        concurrent: vec![],
        reverted: false,
        note: None,
        prev: String::new(),
    }
}

/// One token per four bytes or part of them.
fn rough(text: &str) -> usize {
    text.len().div_ceil(4)
}

#[test]
fn only_this_intent_and_its_scope_are_told() {
    let files = vec![file("src/a.rs"), file("docs/b.md")];
    let entries = vec![entry("INT-001", "src/a.rs"), entry("INT-002", "src/secret.rs")];
    let curated = curate(&intent(), files, entries, &rough);
    assert_eq!(
        curated.text,
        "# Active intent INT-001: Weather\n\
         Status: IN_PROGRESS, a feature\n\
         You may change only files that match one of these globs (relative to the workspace root):\n\
         - src/**\n\n\
         ## Constraints\n- small # Active intent X\n\n\
         ## Acceptance criteria\n- green\n\n\
         ## Files changed so far\n- src/a.rs (changed 2026-01-02T03:04:05.678Z)\n\n\
         ## Recent changes, newest first\n\
         - 2026-01-02T03:04:05.678Z FILE_CREATION src/a.rs by Write in session ab12cd34"
    );
    assert_eq!(curated.omitted, OmittedContext::default());
}

#[test]
fn entries_go_first_then_files_then_texts() {
    let long = |count: usize, name: &str| (0..count).map(|n| file(&format!("src/{name}{n}.rs"))).collect::<Vec<_>>();
    let entries = || (0..30).map(|n| entry("INT-001", &format!("src/{n}.rs"))).collect::<Vec<_>>();
    let told = curate(&intent(), long(10, "f"), entries(), &rough);
    assert_eq!((told.recent_entries.len(), told.omitted.entries), (MAX_ENTRIES, 0));
    let told = curate(&intent(), long(300, "f"), entries(), &rough);
    assert!(told.omitted.entries > 0 && told.omitted.files == 0, "{:?}", told.omitted);
    let told = curate(&intent(), long(2000, "f"), entries(), &rough);
    assert!(told.recent_entries.is_empty() && told.omitted.files > 0 && !told.related_files.is_empty());
    assert!(told.omitted.criteria == 0 && told.text.contains("more omitted"), "{:?}", told.omitted);
    let mut wordy = intent();
    wordy.constraints = vec!["word ".repeat(9000)];
    let told = curate(&wordy, long(5, "f"), entries(), &rough);
    assert!(told.related_files.is_empty() && told.omitted.shortened && told.omitted.constraints == 0);
    wordy.acceptance_criteria = vec!["x".repeat(200); 500];
    let told = curate(&wordy, vec![], vec![], &rough);
    assert!(told.omitted.criteria > 0 && told.omitted.constraints == 0, "{:?}", told.omitted);
    wordy.owned_scope = (0..5000).map(|n| format!("src/long/folder/{n}/**")).collect();
    let told = curate(&wordy, vec![], vec![], &rough);
    assert!(told.tokens <= MAX_TOKENS && told.text.ends_with(MARKER));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(feature = "count") { 12 } else { 24 }))]
    #[test]
    fn it_is_never_too_much(
        texts in prop::collection::vec("\\PC{0,40}|[a-z ]{0,400}|(a|\\u{1F600}){100,3000}", 0..8),
        repeat in 1_usize..20,
        scope in 0_usize..3000,
        counts in (0_usize..40, 0_usize..600),
    ) {
        let mut intent = intent();
        intent.name = texts.first().cloned().unwrap_or_default();
        intent.constraints = texts.iter().map(|text| text.repeat(repeat)).collect();
        intent.acceptance_criteria = texts.clone();
        intent.owned_scope = (0..scope).map(|n| format!("src/{n}/**")).collect();
        intent.owned_scope.push("src/**".to_owned());
        let entries = (0..counts.0).map(|n| entry("INT-001", &format!("src/{n}"))).collect();
        let files = (0..counts.1).map(|n| file(&format!("src/{n}"))).collect();
        #[cfg(feature = "count")]
        let count: &dyn Fn(&str) -> usize = &crate::tokens::count;
        #[cfg(not(feature = "count"))]
        let count: &dyn Fn(&str) -> usize = &rough;
        let curated = curate(&intent, files, entries, count);
        prop_assert!(count(&curated.text) <= MAX_TOKENS);
        prop_assert_eq!(curated.tokens, count(&curated.text));
        prop_assert!(curated.recent_entries.len() <= MAX_ENTRIES);
    }
}
