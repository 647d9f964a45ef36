//! What a verification compares with the lines: what this machine wrote, what git has committed, and what its history
//! says about lines that are missing.

use std::collections::HashSet;

use super::link_key::{LinkKey, key_of_line};
use crate::chain::{ChainEnd, LedgerHead};
use crate::ledger::line::LedgerLine;
use crate::query::anchor::LedgerAnchor;

/// What verification compares with the lines.
#[derive(Default)]
pub(crate) struct VerificationEvidence<'g> {
    /// The ends of the chains as the last writer on this machine left them.
    pub head: Option<LedgerHead>,
    /// Ends of chains in commits.
    pub anchors: Vec<LedgerAnchor>,
    /// The ledger in the commit of HEAD.
    pub committed: Option<CommittedLedger>,
    /// Whether git stopped in the middle of a merge, rebase, revert or cherry-pick.
    pub is_git_busy: bool,
    /// Whether the change of a chain's last line is still on disk.
    pub is_change_there: Option<&'g dyn Fn(&ChainEnd) -> bool>,
    /// Asks git what became of lines; asked only for lines that are missing.
    pub history: Option<&'g HistoryQuery<'g>>,
}

/// Asks what became of missing lines; lines that git does not know have no outcome.
pub(crate) type HistoryQuery<'g> = dyn Fn(&HashSet<LinkKey>) -> Vec<(LinkKey, MissingLineOutcome)> + 'g;

/// What git knows about a line that is not in the ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum MissingLineOutcome {
    /// A commit of this history removed it together with its change.
    Reverted(String),
    /// A commit of this history removed it, and its change is still there.
    Erased {
        /// The commit.
        commit: String,
        /// The changed file.
        path: String,
    },
    /// A commit of this history added it, and none removed it: a merge lost it.
    Lost(String),
    /// Only a commit outside this history has it.
    Dropped(String),
}

/// The ledger of a commit, with the lines that are its own.
#[derive(Debug, Default)]
pub(crate) struct CommittedLedger {
    bytes: Vec<u8>,
    /// How much of it the ledger on disk starts with.
    same: usize,
    same_lines: u64,
    keys: Option<Vec<(u64, LinkKey)>>,
    set: HashSet<LinkKey>,
}

impl CommittedLedger {
    pub(crate) fn new(bytes: Vec<u8>) -> Self {
        Self { bytes, ..Self::default() }
    }

    /// Looks at one line of the ledger on disk.
    pub(super) fn compare(&mut self, line: &LedgerLine) {
        let start = usize::try_from(line.offset).unwrap_or(usize::MAX);
        let end = start.saturating_add(line.bytes.len());
        let is_next = self.same == start && line.ended && line.length == line.bytes.len() as u64;
        if is_next && self.bytes.get(start..end) == Some(&line.bytes) && self.bytes.get(end) == Some(&b'\n') {
            self.same = end + 1;
            self.same_lines += 1;
        }
    }

    /// The lines that the ledger on disk does not start with, with their numbers. Hashed only if there are any.
    pub(super) fn others(&mut self) -> &[(u64, LinkKey)] {
        let rest = self.bytes.get(self.same..).unwrap_or_default();
        let keys = self.keys.get_or_insert_with(|| {
            let first = self.same_lines + 1;
            let lines = rest.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
            lines.enumerate().map(|(index, line)| (first + index as u64, key_of_line(line))).collect()
        });
        self.set.extend(keys.iter().map(|(_, key)| *key));
        keys
    }

    /// Whether a line of the ledger on disk is committed. [`Self::others`] was called before.
    pub(super) fn contains(&self, line: u64, key: &LinkKey) -> bool {
        line <= self.same_lines || self.set.contains(key)
    }
}
