//! Many processes append at once and none loses an entry or breaks the chain.

use std::process::Command;

use ext_intents::chain;
use ext_intents::entry::{MutationClass, ScopeValidation, TraceEntry};
use ext_intents::error::IntentsError;
use ext_intents::layout::Layout;
use ext_intents::ledger::Ledger;

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
        tool_use_id: None,
        added: Vec::new(),
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
    let ledger = Ledger::open(&Layout::new(&root));
    let before = ledger.lines().unwrap().count();
    for number in 0..ENTRIES_EACH {
        // Whoever is told that the others keep the lock has written nothing, and comes again.
        while let Err(refused) = ledger.append(vec![entry(&writer, number)]) {
            assert!(matches!(refused, IntentsError::Busy), "{refused}");
        }
    }
    assert!(ledger.lines().unwrap().count() >= before + ENTRIES_EACH);
}

#[test]
fn two_hundred_writers() {
    let folder = tempfile::tempdir().unwrap();
    let layout = Layout::new(folder.path());
    let start = |number: usize| {
        Command::new(std::env::current_exe().unwrap())
            .args(["one_writer", "--exact", "--quiet", "--nocapture"])
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
    let mut expected = chain::START.to_owned();
    let mut ids = std::collections::BTreeSet::new();
    for line in ledger.lines().unwrap() {
        let line = line.unwrap();
        let entry = line.entry().unwrap();
        assert_eq!(entry.prev, expected, "line {}", line.number);
        expected = line.link();
        assert!(ids.insert(entry.id));
    }
    assert_eq!(ids.len(), PROCESSES * ENTRIES_EACH);
    let head = ledger.head().unwrap();
    assert_eq!((head.entries, head.last), (ids.len() as u64, expected));
    assert_eq!(ledger.recent("INT-001", 20).len(), 20);
}
