//! The states of every file that the entries describe.
//!
//! Pure.

use std::collections::{BTreeMap, HashSet};

use super::finding::{FindingKind, LedgerFinding};
use super::link_key::{LinkKey, key};
use crate::trace_entry::TraceEntry;

/// The recorded states of the files.
#[derive(Debug, Default)]
pub(crate) struct FileStates {
    files: BTreeMap<String, RecordedStates>,
}

#[derive(Debug, Default)]
struct RecordedStates {
    before: Vec<(u64, Option<LinkKey>)>,
    after: HashSet<Option<LinkKey>>,
    last: LastFileState,
}

/// The last recorded state of a file.
#[derive(Debug, Clone, Default)]
pub(crate) struct LastFileState {
    pub(crate) line: u64,
    pub(crate) hash: Option<String>,
}

impl FileStates {
    pub(super) fn add(&mut self, number: u64, entry: &TraceEntry) {
        let Some(file) = &entry.file else {
            return;
        };
        let left = if entry.reverted { &file.pre_hash } else { &file.post_hash };
        let states = match self.files.get_mut(&file.relative_path) {
            Some(states) => states,
            None => self.files.entry(file.relative_path.clone()).or_default(),
        };
        states.before.push((number, file.pre_hash.as_deref().map(key)));
        states.after.insert(left.as_deref().map(key));
        states.last = LastFileState { line: number, hash: left.clone() };
    }

    /// The changes of files that no entry explains. The entries may be in any order, so a change is explained if any
    /// entry of the file left what it found.
    pub(super) fn gaps(&self) -> Vec<LedgerFinding> {
        let mut found = Vec::new();
        for (path, states) in &self.files {
            for (number, _) in states.before.iter().skip(1).filter(|(_, before)| !states.after.contains(before)) {
                let detail = format!("{path} was changed before this line without an entry");
                found.push(LedgerFinding { line: *number, kind: FindingKind::Gap, detail });
            }
        }
        found
    }

    /// The last state of each file.
    pub(super) fn last_states(&self) -> impl Iterator<Item = (&str, &LastFileState)> {
        self.files.iter().map(|(path, states)| (path.as_str(), &states.last))
    }

    /// Whether an entry left a file like this and no other entry went on from there: the end of a branch.
    pub(super) fn is_branch_end(&self, path: &str, hash: Option<&str>) -> bool {
        let state = hash.map(key);
        let ends = |states: &RecordedStates| {
            states.after.contains(&state) && !states.before.iter().any(|(_, before)| *before == state)
        };
        self.files.get(path).is_some_and(ends)
    }
}
