//! Many processes append at once without losing an entry or breaking the chain.

use std::process::Command;

use crate::chain;
use crate::error::IntentsError;
use crate::layout::OrchestrationLayout;
use crate::ledger::Ledger;
use crate::trace_entry::{MutationClass, ScopeValidation, TraceEntry};

const PROCESSES: usize = 200;
const ENTRIES_EACH: usize = 3;
const ROOT: &str = "INTENTS_TEST_LEDGER_ROOT";
const WRITER: &str = "INTENTS_TEST_LEDGER_WRITER";

fn entry(writer: &str, number: usize) -> TraceEntry {
    TraceEntry {
        id: format!("{writer}-{number}"),
        timestamp: dispatch_os::time::now_rfc3339(),
        intent_id: "INT-001".to_owned(),
        session_id: writer.to_owned(),
        tool_name: "Write".to_owned(),
        mutation_class: MutationClass::BugFix,
        file: None,
        scope_validation: ScopeValidation::Exempt,
        success: true,
        error: None,
        host: None,
        model: None,
        conversation: None,
        tool_use_id: None,
        added: Vec::new(),
        removed: None,
        concurrent: Vec::new(),
        reverted: false,
        note: None,
        prev: String::new(),
    }
}

/// The body of one writer when this binary is started by the test below; the same test with one
/// writer in this process otherwise.
#[test]
fn one_writer() {
    let folder = tempfile::tempdir().unwrap();
    let root = std::env::var_os(ROOT).map_or(folder.path().to_path_buf(), Into::into);
    let writer = std::env::var(WRITER).unwrap_or_else(|_| "alone".to_owned());
    let ledger = Ledger::open(&OrchestrationLayout::new(&root));
    let before = ledger.lines().unwrap().count();
    for number in 0..ENTRIES_EACH {
        // A writer that finds the lock busy has written nothing and tries again.
        while let Err(refused) = ledger.append(vec![entry(&writer, number)]) {
            assert!(matches!(refused, IntentsError::Busy), "{refused}");
        }
    }
    assert!(ledger.lines().unwrap().count() >= before + ENTRIES_EACH);
}

#[test]
fn two_hundred_writers() {
    let folder = tempfile::tempdir().unwrap();
    let layout = OrchestrationLayout::new(folder.path());
    let start = |number: usize| {
        Command::new(std::env::current_exe().unwrap())
            .args(["ledger::tests::processes::one_writer", "--exact", "--quiet", "--nocapture"])
            .env(ROOT, folder.path())
            .env(WRITER, format!("w{number}"))
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap()
    };
    let children: Vec<_> = (0..PROCESSES).map(start).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let ledger = Ledger::open(&layout);
    let mut ends = std::collections::BTreeMap::new();
    let mut last = String::new();
    let mut ids = std::collections::BTreeSet::new();
    for line in ledger.lines().unwrap() {
        let line = line.unwrap();
        let entry = line.entry().unwrap();
        last = line.link();
        let end = ends.insert(entry.session_id, last.clone()).unwrap_or_else(|| chain::START.to_owned());
        assert_eq!(entry.prev, end, "line {}", line.number);
        assert!(ids.insert(entry.id));
    }
    assert_eq!(ids.len(), PROCESSES * ENTRIES_EACH);
    let head = ledger.head().unwrap();
    assert_eq!((head.entries, head.last), (ids.len() as u64, last));
    assert_eq!(ledger.recent("INT-001", 20).len(), 20);
}
