//! One pass over the lines: collects the chains of the sessions and what is needed to explain their breaks.
//!
//! Pure.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::file_states::FileStates;
use super::finding::{FindingKind, LedgerFinding};
use super::link_key::{LinkKey, key};
use crate::chain::START;
use crate::hash::content_hash;
use crate::ledger::line::LedgerLine;
use crate::trace_entry::TraceEntry;

/// One entry of the ledger in its chain.
#[derive(Debug, Clone)]
pub(super) struct ChainLine {
    /// The line of the ledger, from 1.
    pub(super) number: u64,
    pub(super) key: LinkKey,
    /// The line that it follows.
    pub(super) prev: LinkKey,
    pub(super) session: LinkKey,
}

/// The collected facts.
#[derive(Default)]
pub(super) struct ChainWalk {
    /// Lines in the file.
    pub(super) count: u64,
    /// Different entries.
    pub(super) entries: u64,
    /// Lines that are the same as an earlier one.
    pub(super) repeated: u64,
    pub(super) lines: Vec<ChainLine>,
    /// Lines that are not entries and were not left by a killed writer.
    pub(super) malformed: BTreeMap<u64, String>,
    pub(super) problems: Vec<LedgerFinding>,
    pub(super) notes: Vec<LedgerFinding>,
    pub(super) files: FileStates,
    places: HashMap<LinkKey, u64>,
    followed: HashSet<LinkKey>,
    ids: HashMap<LinkKey, u64>,
}

impl ChainWalk {
    pub(super) fn line(&mut self, line: &LedgerLine) -> LinkKey {
        self.count = line.number;
        let link = key(&line.link());
        if self.places.contains_key(&link) {
            self.repeated += 1;
            return link;
        }
        self.places.insert(link, line.number);
        match line.entry() {
            Ok(entry) => self.entry(line, link, &entry),
            Err(error) => self.malformed(line, &error),
        }
        link
    }

    /// The line with this key.
    pub(super) fn place(&self, link: &LinkKey) -> Option<u64> {
        self.places.get(link).copied()
    }

    /// Whether a line follows the one with this key.
    pub(super) fn is_followed(&self, link: &LinkKey) -> bool {
        self.followed.contains(link)
    }

    /// The line with this id.
    pub(super) fn place_of_id(&self, id: &str) -> Option<u64> {
        self.ids.get(&key(&content_hash(id.as_bytes()))).copied()
    }

    fn entry(&mut self, line: &LedgerLine, link: LinkKey, entry: &TraceEntry) {
        self.entries += 1;
        if !line.ended {
            self.problem(line.number, FindingKind::Torn, "the last line has no line feed".to_owned());
        }
        if let Some(first) = self.ids.insert(key(&content_hash(entry.id.as_bytes())), line.number) {
            self.problem(line.number, FindingKind::DuplicateId, format!("has the id of line {first}, {}", entry.id));
        }
        let prev = key(&entry.prev);
        if entry.prev != START {
            self.followed.insert(prev);
        }
        let session = key(&content_hash(entry.session_id.as_bytes()));
        self.lines.push(ChainLine { number: line.number, key: link, prev, session });
        self.files.add(line.number, entry);
    }

    fn malformed(&mut self, line: &LedgerLine, error: &serde_json::Error) {
        if !line.ended {
            self.problem(line.number, FindingKind::Torn, format!("the last line is incomplete: {error}"));
        } else if error.is_eof() || std::str::from_utf8(&line.bytes).is_err_and(|error| error.error_len().is_none()) {
            let detail = format!("not an entry: {error}; left by a killed writer");
            self.notes.push(LedgerFinding { line: line.number, kind: FindingKind::Malformed, detail });
        } else {
            self.malformed.insert(line.number, format!("not an entry: {error}"));
        }
    }

    fn problem(&mut self, line: u64, kind: FindingKind, detail: String) {
        self.problems.push(LedgerFinding { line, kind, detail });
    }
}
