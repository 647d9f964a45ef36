//! One pass over the lines: follows the chain and collects what is needed to explain its breaks.
//!
//! Pure.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::finding::{FindingKind, LedgerFinding};
use crate::chain::START;
use crate::hash::{PREFIX, content_hash};
use crate::ledger::line::LedgerLine;
use crate::query::anchor::LedgerAnchor;
use crate::trace_entry::TraceEntry;

/// Half a digest identifies a line with half the memory.
type LinkKey = [u8; 16];

/// A line that does not follow the line before it.
#[derive(Debug, Clone)]
pub(super) struct ChainBreak {
    /// The line.
    pub(super) at: u64,
    /// The line before it in the file.
    pub(super) after: u64,
    /// The hash that it contains instead.
    pub(super) prev: String,
}

/// The last recorded state of a file.
#[derive(Debug, Clone)]
pub(crate) struct LastFileState {
    pub(crate) line: u64,
    pub(crate) hash: Option<String>,
}

/// The collected facts.
pub(super) struct ChainWalk {
    pub(super) count: u64,
    pub(super) entries: u64,
    pub(super) breaks: Vec<ChainBreak>,
    /// Lines that are not entries, with the reason.
    pub(super) malformed: BTreeMap<u64, String>,
    /// Those of them that the next line follows.
    pub(super) chained_over: HashSet<u64>,
    pub(super) problems: Vec<LedgerFinding>,
    pub(super) notes: Vec<LedgerFinding>,
    /// The links of lines that have an anchor.
    pub(super) anchored: HashMap<u64, String>,
    wanted: HashSet<u64>,
    places: HashMap<LinkKey, u64>,
    ids: HashMap<LinkKey, u64>,
    last_states: BTreeMap<String, LastFileState>,
    /// The hash that the next line must contain, and its line.
    expected: (String, u64),
    /// The hash that it may contain instead, if the lines in between were inserted later.
    before_malformed: Option<(String, u64)>,
}

impl ChainWalk {
    pub(super) fn new(anchors: &[LedgerAnchor]) -> Self {
        Self {
            count: 0,
            entries: 0,
            breaks: Vec::new(),
            malformed: BTreeMap::new(),
            chained_over: HashSet::new(),
            problems: Vec::new(),
            notes: Vec::new(),
            anchored: HashMap::new(),
            wanted: anchors.iter().map(|anchor| anchor.entries).collect(),
            places: HashMap::from([(key(START), 0)]),
            ids: HashMap::new(),
            last_states: BTreeMap::new(),
            expected: (START.to_owned(), 0),
            before_malformed: None,
        }
    }

    pub(super) fn line(&mut self, line: &LedgerLine) {
        self.count = line.number;
        let link = line.link();
        if self.wanted.contains(&line.number) {
            self.anchored.insert(line.number, link.clone());
        }
        if let Some(first) = self.places.get(&key(&link)) {
            let detail = format!("the same as line {first}");
            self.problem(line.number, FindingKind::Duplicated, detail);
            return;
        }
        self.places.insert(key(&link), line.number);
        match line.entry() {
            Ok(entry) => self.entry(line, link, entry),
            Err(error) => self.malformed(line, link, &error.to_string()),
        }
    }

    /// The line with this link; 0 for the start of the ledger.
    pub(super) fn place(&self, link: &str) -> Option<u64> {
        self.places.get(&key(link)).copied()
    }

    pub(super) fn into_last_states(self) -> BTreeMap<String, LastFileState> {
        self.last_states
    }

    fn entry(&mut self, line: &LedgerLine, link: String, entry: TraceEntry) {
        self.entries += 1;
        self.follow(line.number, &entry.prev);
        if !line.ended {
            self.problem(line.number, FindingKind::Torn, "the last line has no line feed".to_owned());
        }
        if let Some(first) = self.ids.insert(key(&content_hash(entry.id.as_bytes())), line.number) {
            self.problem(line.number, FindingKind::DuplicateId, format!("has the id of line {first}, {}", entry.id));
        }
        self.file(line.number, &entry);
        self.expected = (link, line.number);
        self.before_malformed = None;
    }

    fn follow(&mut self, number: u64, prev: &str) {
        if self.expected.0 == prev {
            self.chained_over.extend(self.before_malformed.as_ref().map(|_| self.expected.1));
            return;
        }
        // A malformed line that no line follows was inserted later; only that line is reported.
        if self.before_malformed.as_ref().is_some_and(|(link, _)| link == prev) {
            return;
        }
        self.breaks.push(ChainBreak { at: number, after: self.expected.1, prev: prev.to_owned() });
    }

    fn malformed(&mut self, line: &LedgerLine, link: String, reason: &str) {
        if line.ended {
            self.malformed.insert(line.number, format!("not an entry: {reason}"));
        } else {
            self.problem(line.number, FindingKind::Torn, format!("the last line is incomplete: {reason}"));
        }
        let before = std::mem::replace(&mut self.expected, (link, line.number));
        self.before_malformed.get_or_insert(before);
    }

    fn file(&mut self, number: u64, entry: &TraceEntry) {
        let Some(file) = &entry.file else {
            return;
        };
        if let Some(last) = self.last_states.get(&file.relative_path)
            && last.hash != file.pre_hash
        {
            let detail = format!("{} was changed between line {} and this one", file.relative_path, last.line);
            self.notes.push(LedgerFinding { line: number, kind: FindingKind::Gap, detail });
        }
        let left = if entry.reverted { &file.pre_hash } else { &file.post_hash };
        self.last_states.insert(file.relative_path.clone(), LastFileState { line: number, hash: left.clone() });
    }

    fn problem(&mut self, line: u64, kind: FindingKind, detail: String) {
        self.problems.push(LedgerFinding { line, kind, detail });
    }
}

/// The first half of a digest; other text is digested first.
fn key(link: &str) -> LinkKey {
    let digits = link.strip_prefix(PREFIX).filter(|digits| digits.len() == 64);
    let parsed = digits.and_then(|digits| u128::from_str_radix(digits.get(..32)?, 16).ok());
    match parsed {
        Some(number) => number.to_be_bytes(),
        None if link.starts_with(PREFIX) => key(&content_hash(format!("\0{link}").as_bytes())),
        None => key(&content_hash(link.as_bytes())),
    }
}
