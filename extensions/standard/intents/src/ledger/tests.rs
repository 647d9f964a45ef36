//! The ledger on real files: appends, crashes and damage.

mod processes;

use std::fs;
use std::io::Write;

use tempfile::TempDir;

use super::line::MAX_LINE_BYTES;
use super::*;
use crate::chain;
use crate::trace_entry::{FileHashes, MutationClass, ScopeValidation};

struct LedgerFixture {
    _folder: TempDir,
    layout: OrchestrationLayout,
    ledger: Ledger,
}

impl LedgerFixture {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let layout = OrchestrationLayout::new(folder.path());
        fs::create_dir(layout.folder()).unwrap();
        Self { ledger: Ledger::open(&layout), layout, _folder: folder }
    }

    fn add(&self, intent: &str, path: &str) -> LedgerHead {
        self.ledger.append(vec![entry(intent, path)]).unwrap()
    }

    fn text(&self) -> Vec<u8> {
        fs::read(self.layout.ledger_file()).unwrap()
    }
}

fn entry(intent: &str, path: &str) -> TraceEntry {
    TraceEntry {
        id: dispatch_os::ids::uuid_v4().to_string(),
        timestamp: dispatch_os::time::now_rfc3339(),
        intent_id: intent.to_owned(),
        session_id: "a3f0c812".to_owned(),
        tool_name: "Write".to_owned(),
        mutation_class: MutationClass::IntentEvolution,
        file: Some(FileHashes { relative_path: path.to_owned(), pre_hash: None, post_hash: None }),
        scope_validation: ScopeValidation::Pass,
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

/// The number of lines, or the first line whose `prev` is in no other line.
fn chain_of(ledger: &Ledger) -> Result<u64, u64> {
    let lines: Vec<_> = ledger.lines().unwrap().map(Result::unwrap).collect();
    let links: std::collections::HashSet<String> =
        lines.iter().map(LedgerLine::link).chain([chain::START.to_owned()]).collect();
    let broken = lines.iter().find(|line| line.entry().is_ok_and(|entry| !links.contains(&entry.prev)));
    broken.map_or(Ok(lines.len() as u64), |line| Err(line.number))
}

fn paths_of(entries: &[TraceEntry]) -> Vec<&str> {
    entries.iter().filter_map(TraceEntry::path).collect()
}

#[test]
fn nothing_is_there_before_the_first_entry() {
    let fixture = LedgerFixture::new();
    assert_eq!(fixture.ledger.lines().unwrap().count(), 0);
    assert!(fixture.ledger.recent("INT-001", 20).is_empty());
    assert!(fixture.ledger.last_of("a").is_none());
    assert_eq!(fixture.ledger.head(), None);
    assert_eq!(fixture.ledger.append(Vec::new()).unwrap(), LedgerHead::default());
}

#[test]
fn entries_are_chained_and_the_head_names_the_end() {
    let fixture = LedgerFixture::new();
    fixture.add("INT-001", "a");
    let head = fixture.ledger.append(vec![entry("INT-002", "b"), entry("INT-001", "c")]).unwrap();
    assert_eq!(chain_of(&fixture.ledger), Ok(3));
    assert_eq!(fixture.ledger.head(), Some(head.clone()));
    assert_eq!((head.entries, head.bytes), (3, fixture.text().len() as u64));
    let last = fixture.ledger.lines().unwrap().last().unwrap().unwrap();
    assert_eq!((last.number, last.link()), (3, head.last));
    let text = fixture.text();
    let at = usize::try_from(last.offset).unwrap();
    assert_eq!(&text[at..at + last.bytes.len()], last.bytes);
    assert_eq!(fs::read(fixture.layout.local_folder().join(".gitignore")).unwrap(), b"*\n");
}

#[test]
fn recent_entries_are_the_newest_of_their_intent_newest_first() {
    let fixture = LedgerFixture::new();
    for number in 0..50 {
        fixture.add(if number % 2 == 0 { "INT-001" } else { "INT-002" }, &format!("f{number}"));
    }
    let found = fixture.ledger.recent("INT-001", 3);
    assert_eq!(paths_of(&found), ["f48", "f46", "f44"]);
    assert_eq!(fixture.ledger.recent("INT-001", 100).len(), RECENT_ENTRIES);
    assert!(fixture.ledger.recent("INT-003", 20).is_empty());
    assert_eq!(fixture.ledger.last_of("f7").unwrap().intent_id, "INT-002");
}

#[test]
fn lost_stale_and_broken_indexes_are_made_again() {
    type LedgerDamage = fn(&OrchestrationLayout);
    let damages: [(&str, LedgerDamage); 7] = [
        ("no local folder", |layout| fs::remove_dir_all(layout.local_folder()).unwrap()),
        ("no recent", |layout| fs::remove_dir_all(layout.recent_folder()).unwrap()),
        ("no files", |layout| fs::remove_dir_all(layout.files_folder()).unwrap()),
        ("garbage", |layout| fs::write(layout.recent_file("INT-001"), b"\xff{").unwrap()),
        ("wrong places", |layout| {
            fs::write(layout.recent_file("INT-001"), r#"{"intent":"INT-001","offsets":[0,1,7,999999]}"#).unwrap();
            fs::write(layout.file_index("f3"), r#"{"path":"f3","offset":5}"#).unwrap();
        }),
        ("half written", |layout| {
            fs::write(layout.file_index("f3"), "").unwrap();
            fs::write(layout.indexed_file(), "{\"entries\":").unwrap();
        }),
        ("no marker", |layout| fs::remove_file(layout.indexed_file()).unwrap()),
    ];
    for (name, damage) in damages {
        let fixture = LedgerFixture::new();
        for number in 0..5 {
            fixture.add("INT-001", &format!("f{number}"));
        }
        damage(&fixture.layout);
        assert_eq!(paths_of(&fixture.ledger.recent("INT-001", 2)), ["f4", "f3"], "{name}");
        assert_eq!(fixture.ledger.last_of("f3").unwrap().path(), Some("f3"), "{name}");
        fixture.add("INT-001", "f5");
        assert_eq!(paths_of(&fixture.ledger.recent("INT-001", 3)), ["f5", "f4", "f3"], "{name}: after an append");
        assert_eq!(fixture.ledger.last_of("f3").unwrap().path(), Some("f3"), "{name}: after an append");
        assert_eq!(chain_of(&fixture.ledger), Ok(6), "{name}");
    }
}

#[test]
fn a_head_that_is_behind_or_gone_is_caught_up_with() {
    let fixture = LedgerFixture::new();
    let early = serde_json::to_vec(&fixture.add("INT-001", "a")).unwrap();
    fixture.add("INT-001", "b");
    fs::write(fixture.layout.head_file(), early).unwrap();
    assert_eq!(paths_of(&fixture.ledger.recent("INT-001", 1)), ["b"]);
    assert_eq!(fixture.add("INT-001", "c").entries, 3);
    fs::remove_file(fixture.layout.head_file()).unwrap();
    assert_eq!(fixture.add("INT-001", "d").entries, 4);
    fs::write(fixture.layout.head_file(), "{").unwrap();
    assert_eq!(fixture.add("INT-001", "e").entries, 5);
    assert_eq!(chain_of(&fixture.ledger), Ok(5));
}

#[test]
fn a_removed_last_line_is_remembered_and_an_edited_one_breaks_the_chain() {
    let removed = LedgerFixture::new();
    let kept = removed.add("INT-001", "a").bytes;
    let gone = removed.add("INT-001", "b").last;
    fs::OpenOptions::new().write(true).open(removed.layout.ledger_file()).unwrap().set_len(kept).unwrap();
    let head = removed.add("INT-001", "c");
    assert_eq!((head.entries, head.missing), (2, vec![gone]));
    assert_eq!(chain_of(&removed.ledger), Ok(2));

    let deleted = LedgerFixture::new();
    let gone = deleted.add("INT-001", "a").last;
    fs::remove_file(deleted.layout.ledger_file()).unwrap();
    fs::remove_file(deleted.layout.head_file()).unwrap();
    assert_eq!(deleted.add("INT-001", "b").missing, [gone], "even when all of it went");

    let edited = LedgerFixture::new();
    edited.add("INT-001", "a");
    let text = String::from_utf8(edited.text()).unwrap().replace("INT-001", "INT-009");
    fs::write(edited.layout.ledger_file(), text).unwrap();
    edited.add("INT-001", "b");
    assert_eq!(chain_of(&edited.ledger), Err(2));
}

#[test]
fn each_session_has_its_own_chain_and_a_merge_keeps_all_of_them() {
    let of = |session: &str, path: &str| TraceEntry { session_id: session.to_owned(), ..entry("INT-001", path) };
    let ours = LedgerFixture::new();
    ours.ledger.append(vec![of("aaaaaaaa", "base")]).unwrap();
    let base = ours.text();
    let theirs = LedgerFixture::new();
    fs::write(theirs.layout.ledger_file(), &base).unwrap();
    ours.ledger.append(vec![of("aaaaaaaa", "a"), of("bbbbbbbb", "b")]).unwrap();
    theirs.ledger.append(vec![of("cccccccc", "c"), of("aaaaaaaa", "d")]).unwrap();
    let added = theirs.text().split_off(base.len());
    fs::write(ours.layout.ledger_file(), [ours.text(), added].concat()).unwrap();
    let head = ours.ledger.append(vec![of("bbbbbbbb", "e"), of("cccccccc", "f")]).unwrap();
    assert_eq!((chain_of(&ours.ledger), head.missing), (Ok(7), Vec::new()));
    let lines: Vec<_> = ours.ledger.lines().unwrap().map(Result::unwrap).collect();
    assert_eq!(lines[5].entry().unwrap().prev, lines[2].link());
    assert_eq!(lines[6].entry().unwrap().prev, lines[3].link());
}

#[test]
fn a_ledger_of_the_old_form_is_carried_on() {
    let fixture = LedgerFixture::new();
    let mut text = Vec::new();
    let mut last = chain::START.to_owned();
    for session in ["aaaaaaaa", "bbbbbbbb"] {
        let old = TraceEntry { session_id: session.to_owned(), prev: last, ..entry("INT-001", "a") };
        let line = serde_json::to_vec(&old).unwrap();
        last = chain::link(&line);
        text.extend([line.as_slice(), b"\n"].concat());
    }
    fs::write(fixture.layout.ledger_file(), &text).unwrap();
    let head = format!("{{\"entries\":2,\"bytes\":{},\"last\":\"{last}\"}}", text.len());
    fs::write(fixture.layout.head_file(), head).unwrap();
    fixture.add("INT-001", "b");
    let head = fixture.add("INT-001", "c");
    let lines: Vec<_> = fixture.ledger.lines().unwrap().map(Result::unwrap).collect();
    assert_eq!(lines[2].entry().unwrap().prev, last);
    assert_eq!(lines[3].entry().unwrap().prev, lines[2].link());
    assert_eq!((chain_of(&fixture.ledger), head.entries), (Ok(4), 4));
}

#[test]
fn a_torn_line_is_ended_and_stays() {
    let fixture = LedgerFixture::new();
    fixture.add("INT-001", "a");
    let torn = b"{\"id\":\"\xff";
    fs::OpenOptions::new().append(true).open(fixture.layout.ledger_file()).unwrap().write_all(torn).unwrap();
    assert_eq!(paths_of(&fixture.ledger.recent("INT-001", 5)), ["a"]);
    assert_eq!(fixture.add("INT-001", "b").entries, 3);
    let lines: Vec<_> = fixture.ledger.lines().unwrap().map(Result::unwrap).collect();
    assert_eq!(lines[1].bytes, torn);
    assert!(lines[1].entry().is_err());
    assert_eq!(lines[2].entry().unwrap().prev, lines[0].link());
    assert_eq!(paths_of(&fixture.ledger.recent("INT-001", 5)), ["b", "a"]);
}

#[test]
fn a_line_longer_than_memory_allows_still_links() {
    let fixture = LedgerFixture::new();
    let huge = vec![b'x'; MAX_LINE_BYTES + 70_000];
    fs::write(fixture.layout.ledger_file(), [huge.as_slice(), b"\n"].concat()).unwrap();
    fixture.add("INT-001", "a");
    let lines: Vec<_> = fixture.ledger.lines().unwrap().map(Result::unwrap).collect();
    assert_eq!((lines[0].bytes.len(), lines[0].length), (MAX_LINE_BYTES, huge.len() as u64));
    assert_eq!(lines[1].entry().unwrap().prev, chain::START);
    assert_eq!(lines[0].link(), chain::link(&huge));
    assert_eq!(paths_of(&fixture.ledger.recent("INT-001", 5)), ["a"]);
}

#[test]
fn an_entry_with_too_many_lines_is_kept_without_them() {
    let fixture = LedgerFixture::new();
    let mut large = entry("INT-001", "a");
    large.added = vec![crate::trace_entry::AddedLines { start: 1, hashes: vec!["0123456789".to_owned(); 200_000] }];
    fixture.ledger.append(vec![large]).unwrap();
    let kept = fixture.ledger.last_of("a").unwrap();
    assert!(kept.added.is_empty() && kept.note.is_some());
}

#[test]
fn a_busy_ledger_is_given_up_after_a_second_attempt() {
    let fixture = LedgerFixture::new();
    fixture.add("INT-001", "a");
    let held = dispatch_os::FileLock::acquire(
        &fixture.layout.lock_file(),
        dispatch_os::LockKind::Exclusive,
        Duration::from_secs(1),
    );
    let started = std::time::Instant::now();
    let hurried = fixture.ledger.clone().with_lock_wait(Duration::ZERO);
    assert!(matches!(hurried.append(vec![entry("INT-001", "b")]), Err(IntentsError::Busy)));
    assert!(started.elapsed() >= RETRY_PAUSE);
    drop(held);
    fixture.add("INT-001", "c");
    assert_eq!(chain_of(&fixture.ledger), Ok(2));
}

#[test]
fn what_is_not_a_file_is_refused() {
    let fixture = LedgerFixture::new();
    fs::create_dir(fixture.layout.ledger_file()).unwrap();
    assert!(matches!(fixture.ledger.append(vec![entry("INT-001", "b")]), Err(IntentsError::NotAFile { .. })));
    let gone = LedgerFixture::new();
    fs::remove_dir(gone.layout.folder()).unwrap();
    fs::write(gone.layout.folder(), b"a file in the fixture of the folder").unwrap();
    assert!(gone.ledger.append(vec![entry("INT-001", "b")]).is_err());
    assert!(gone.ledger.recent("INT-001", 1).is_empty());
}
