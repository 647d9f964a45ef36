//! Every way to tamper with one line is found, with its number; honest use is not a problem.

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::hash::content_hash;
use crate::ledger::Ledger;
use crate::query::anchor::LedgerAnchor;
use crate::query::samples;
use crate::trace_entry::TraceEntry;

struct VerifyFixture {
    _folder: TempDir,
    layout: OrchestrationLayout,
}

impl VerifyFixture {
    /// A workspace whose ledger has this many entries on a few files.
    fn new(entries: u64) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let layout = OrchestrationLayout::new(folder.path());
        std::fs::create_dir_all(layout.folder()).unwrap();
        let fixture = Self { _folder: folder, layout };
        let all: Vec<TraceEntry> =
            (0..entries).map(|number| samples::entry(number, &format!("src/f{}.rs", number % 3))).collect();
        if entries > 0 {
            Ledger::open(&fixture.layout).append(all).unwrap();
        }
        fixture
    }

    fn bytes(&self) -> Vec<u8> {
        std::fs::read(self.layout.ledger_file()).unwrap_or_default()
    }

    fn write(&self, bytes: &[u8]) {
        std::fs::write(self.layout.ledger_file(), bytes).unwrap();
    }

    fn lines(&self) -> Vec<Vec<u8>> {
        self.bytes().split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect()
    }

    fn verify_with(&self, anchors: Vec<LedgerAnchor>) -> LedgerVerification {
        let ledger = Ledger::open(&self.layout);
        let mut evidence = VerificationEvidence { head: ledger.known_head(), anchors, ..Default::default() };
        verify(ledger.archived_lines().unwrap(), ledger.present_lines().unwrap(), &mut evidence)
            .unwrap()
            .with_files(&self.layout)
    }

    fn verify(&self) -> LedgerVerification {
        self.verify_with(Vec::new())
    }

    fn kinds(&self) -> Vec<(u64, FindingKind)> {
        self.verify().problems.iter().map(|problem| (problem.line, problem.kind)).collect()
    }
}

#[test]
fn an_untouched_ledger_is_proven() {
    for entries in [0, 1, 2, 50] {
        let found = VerifyFixture::new(entries).verify();
        assert_eq!((found.entries, found.problems), (entries, Vec::new()), "{entries}");
    }
}

#[test]
fn a_removed_line_is_named_wherever_it_was() {
    for line in 1..=5 {
        let fixture = VerifyFixture::new(5);
        let mut lines = fixture.lines();
        lines.remove(line - 1);
        fixture.write(&lines.concat());
        let kinds = fixture.kinds();
        assert!(
            !kinds.is_empty() && kinds.iter().all(|(_, kind)| *kind == FindingKind::Removed),
            "line {line}: {kinds:?}"
        );
    }
}

#[test]
fn an_edited_line_is_named_wherever_it_is() {
    for field in ["\"prev\":\"sha256:", "\"session_id\":\"", "\"intent_id\":\""] {
        for line in 1..=5 {
            let fixture = VerifyFixture::new(5);
            let mut lines = fixture.lines();
            let text = String::from_utf8(lines[line - 1].clone()).unwrap();
            let at = text.find(field).unwrap() + field.len();
            lines[line - 1][at] = if lines[line - 1][at] == b'0' { b'1' } else { b'0' };
            fixture.write(&lines.concat());
            let kinds = fixture.kinds();
            let is_told = |found: &(u64, FindingKind)| matches!(found.1, FindingKind::Edited | FindingKind::Removed);
            assert!(!kinds.is_empty() && kinds.iter().all(is_told), "line {line} {field}: {kinds:?}");
        }
    }
}

#[test]
fn the_loss_of_ledger_and_head_is_found_by_the_indexes() {
    let fixture = VerifyFixture::new(3);
    std::fs::remove_file(fixture.layout.ledger_file()).unwrap();
    assert!(fixture.kinds().contains(&(1, FindingKind::Removed)), "{:?}", fixture.kinds());
    std::fs::remove_file(fixture.layout.head_file()).unwrap();
    assert!(fixture.kinds().contains(&(1, FindingKind::Removed)), "{:?}", fixture.kinds());
}

#[test]
fn a_writer_killed_midway_leaves_notes_once_another_has_written() {
    let fixture = VerifyFixture::new(3);
    let mut bytes = fixture.bytes();
    bytes.extend_from_slice(br#"{"id":"half"#);
    fixture.write(&bytes);
    assert_eq!(fixture.kinds(), [(4, FindingKind::Torn)]);
    Ledger::open(&fixture.layout).append(vec![samples::entry(9, "src/f9.rs")]).unwrap();
    let found = fixture.verify();
    assert_eq!(found.problems, []);
    assert!(found.notes.iter().any(|note| (note.line, note.kind) == (4, FindingKind::Malformed)), "{found:?}");
}

#[test]
fn lines_that_the_head_does_not_know_are_no_problem() {
    let fixture = VerifyFixture::new(3);
    let old_head = std::fs::read(fixture.layout.head_file()).unwrap();
    Ledger::open(&fixture.layout).append(vec![samples::entry(3, "src/f0.rs")]).unwrap();
    std::fs::write(fixture.layout.head_file(), old_head).unwrap();
    assert_eq!(fixture.verify().problems, []);
}

#[test]
fn an_id_may_not_come_twice() {
    let fixture = VerifyFixture::new(2);
    let mut again = samples::entry(7, "src/f7.rs");
    again.id = samples::entry(0, "").id;
    Ledger::open(&fixture.layout).append(vec![again]).unwrap();
    assert_eq!(fixture.kinds(), [(3, FindingKind::DuplicateId)]);
}

#[test]
fn an_anchor_notices_what_ledger_and_head_cannot() {
    let fixture = VerifyFixture::new(4);
    let lines = fixture.lines();
    let link = |line: usize| content_hash(lines[line - 1].strip_suffix(b"\n").unwrap());
    let anchor = |entries, last| LedgerAnchor { commit: "0123456789abcdef".into(), entries, last };
    let found = fixture.verify_with(vec![anchor(2, link(2)), anchor(4, link(4))]);
    assert_eq!((found.problems, found.anchors), (Vec::new(), 2));

    std::fs::remove_file(fixture.layout.ledger_file()).unwrap();
    std::fs::remove_file(fixture.layout.head_file()).unwrap();
    std::fs::remove_dir_all(fixture.layout.local_folder()).unwrap();
    assert_eq!(fixture.verify().problems, [], "without an anchor nothing is left to notice it by");
    let found = fixture.verify_with(vec![anchor(4, link(4))]);
    assert_eq!(
        found.problems.iter().map(|problem| (problem.line, problem.kind)).collect::<Vec<_>>(),
        [(1, FindingKind::Anchor)]
    );
}

#[test]
fn files_are_compared_and_people_may_edit() {
    let fixture = VerifyFixture::new(0);
    let file = fixture.layout.root.join("a.rs");
    let append = |pre: Option<&[u8]>, post: Option<&[u8]>, number| {
        let entry = samples::change(number, "a.rs", pre, post);
        Ledger::open(&fixture.layout).append(vec![entry]).unwrap();
    };
    append(None, Some(b"one\n"), 1);
    std::fs::write(&file, "one\n").unwrap();
    let found = fixture.verify();
    assert_eq!((found.files, found.notes.len(), found.problems.len()), (1, 0, 0));

    std::fs::write(&file, "by hand\n").unwrap();
    let found = fixture.verify();
    assert_eq!(found.problems, []);
    assert_eq!((found.notes[0].kind, found.notes[0].line), (FindingKind::Content, 1));
    assert_eq!(found.strict().problems[0].kind, FindingKind::Content);

    append(Some(b"by hand\n"), None, 2);
    let kinds: Vec<FindingKind> = fixture.verify().notes.iter().map(|note| note.kind).collect();
    assert_eq!(kinds, [FindingKind::Gap, FindingKind::Content], "the file should be gone and is there");
    std::fs::remove_file(&file).unwrap();
    assert_eq!(fixture.verify().strict().problems.len(), 1, "the gap alone");
}

#[test]
fn a_path_that_leaves_the_workspace_is_not_opened() {
    let fixture = VerifyFixture::new(0);
    Ledger::open(&fixture.layout).append(vec![samples::change(1, "../outside", None, Some(b"x"))]).unwrap();
    assert!(fixture.verify().notes[0].detail.contains("not a path in this workspace"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_edited_byte_is_found(entries in 1_u64..12, place in 0.0_f64..1.0, value: u8) {
        let fixture = VerifyFixture::new(entries);
        let mut bytes = fixture.bytes();
        let at = ((bytes.len() as f64) * place) as usize;
        prop_assume!(bytes[at] != value);
        let line = bytes[..at].iter().filter(|byte| **byte == b'\n').count() as u64 + 1;
        bytes[at] = value;
        fixture.write(&bytes);
        let kinds = fixture.kinds();
        prop_assert!(!kinds.is_empty(), "line {}", line);
    }

    #[test]
    fn any_removed_line_is_found(entries in 1_u64..12, place in 0.0_f64..1.0) {
        let fixture = VerifyFixture::new(entries);
        let mut lines = fixture.lines();
        let at = ((lines.len() as f64) * place) as usize;
        lines.remove(at);
        fixture.write(&lines.concat());
        prop_assert!(fixture.kinds().iter().any(|(_, kind)| *kind == FindingKind::Removed));
    }

    #[test]
    fn any_order_and_any_repetition_of_the_lines_verifies(
        entries in 1_u64..12,
        swaps in prop::collection::vec((0.0_f64..1.0, 0.0_f64..1.0), 0..12),
        again in 0.0_f64..1.0,
    ) {
        let fixture = VerifyFixture::new(entries);
        let mut lines = fixture.lines();
        let count = lines.len() as f64;
        for (one, other) in swaps {
            lines.swap((count * one) as usize, (count * other) as usize);
        }
        lines.push(lines[(count * again) as usize].clone());
        fixture.write(&lines.concat());
        let found = fixture.verify();
        prop_assert_eq!((found.problems, found.entries, found.repeated), (Vec::new(), entries, 1));
    }

    #[test]
    fn a_tampered_ledger_stays_so_when_writers_go_on(entries in 2_u64..10, place in 0.0_f64..1.0) {
        let fixture = VerifyFixture::new(entries);
        let mut lines = fixture.lines();
        lines.remove(((lines.len() as f64) * place) as usize);
        fixture.write(&lines.concat());
        Ledger::open(&fixture.layout).append(vec![samples::entry(99, "later.rs")]).unwrap();
        prop_assert!(!fixture.kinds().is_empty());
    }
}
