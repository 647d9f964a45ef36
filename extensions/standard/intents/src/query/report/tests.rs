//! The page holds what the ledger says and nothing that a browser would run or fetch.

use super::*;
use crate::intent::{IntentSpec, IntentStatus};
use crate::layout::OrchestrationLayout;
use crate::ledger::Ledger;
use crate::query::samples;
use crate::query::summary::LedgerSummary;
use crate::trace_entry::ScopeValidation;

const EVIL: &str = "<script>alert('x')</script>\"&\u{202e}.rs";

fn summary() -> LedgerSummary {
    let folder = tempfile::tempdir().unwrap();
    let layout = OrchestrationLayout::new(folder.path());
    std::fs::create_dir_all(layout.folder()).unwrap();
    let mut entries: Vec<_> =
        (0..40).map(|number| samples::entry(number, &format!("src/f{}.rs", number % 5))).collect();
    entries[7].scope_validation = ScopeValidation::Fail;
    entries[8].intent_id = String::new();
    entries[9].file.as_mut().unwrap().relative_path = EVIL.to_owned();
    entries[9].tool_name = EVIL.to_owned();
    entries[9].intent_id = EVIL.to_owned();
    entries[9].scope_validation = ScopeValidation::Fail;
    entries[9].session_id = EVIL.to_owned();
    let ledger = Ledger::open(&layout);
    ledger.append(entries).unwrap();
    LedgerSummary::read(ledger.lines().unwrap()).unwrap()
}

fn intent() -> IntentSpec {
    IntentSpec {
        id: "INT-001".into(),
        name: EVIL.into(),
        status: IntentStatus::InProgress,
        owned_scope: vec!["src/**".into()],
        constraints: Vec::new(),
        acceptance_criteria: Vec::new(),
        created_at: String::new(),
        updated_at: String::new(),
        kind: None,
        claim: None,
        mode: None,
    }
}

#[test]
fn numbers_are_counted() {
    let summary = summary();
    assert_eq!((summary.entries, summary.escape_count, summary.escapes.len()), (40, 3, 3));
    assert_eq!(summary.files.len(), 6);
    assert_eq!(summary.intents["INT-001"].entries + summary.intents["INT-002"].entries, 38);
    assert_eq!(summary.days.values().map(|day| day.inside + day.escapes).sum::<u64>(), 40);
}

#[test]
fn nothing_of_the_ledger_becomes_markup() {
    let summary = summary();
    let problems = [EVIL.to_owned()];
    let intents = [intent()];
    let report = ReportInput { title: EVIL, subtitle: EVIL, summary: &summary, intents: &intents, problems: &problems };
    let page = render(&report);
    assert!(!page.contains("<script"), "a script");
    assert!(!page.contains('\u{202e}'), "turned text");
    assert!(!page.contains("http:") && !page.contains("https:"), "an address");
    assert!(page.contains("&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&quot;&amp;"));
    for tag in ["table", "tr", "td", "section", "div", "svg", "main", "ul"] {
        let count = |text: &str| page.matches(text).count();
        assert_eq!(count(&format!("<{tag}>")) + count(&format!("<{tag} ")), count(&format!("</{tag}>")), "{tag}");
    }
}

#[test]
fn an_empty_ledger_makes_a_page_too() {
    let summary = LedgerSummary::default();
    let page = render(&ReportInput { title: "x", subtitle: "now", summary: &summary, intents: &[], problems: &[] });
    assert!(page.contains("no changes out of scope"));
}
