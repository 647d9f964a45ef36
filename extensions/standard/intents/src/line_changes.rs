//! The removed and added lines of a change.
//!
//! Pure.

use crate::hash::{bare_line_hash, line_hash};
use crate::trace_entry::AddedLines;

/// More removed lines are not stored one by one.
const MAX_REMOVED: usize = 2_000;

/// The changed lines of a text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct LineChanges<'a> {
    /// Removed lines.
    pub removed: Vec<&'a [u8]>,
    /// Runs of added lines with the number of their first one, from 1.
    pub added: Vec<(usize, Vec<&'a [u8]>)>,
}

impl LineChanges<'_> {
    /// The added lines as the ledger stores them.
    #[must_use]
    pub(crate) fn hashes(&self) -> Vec<AddedLines> {
        let run = |(start, lines): &(usize, Vec<&[u8]>)| AddedLines {
            start: u32::try_from(*start).unwrap_or(u32::MAX),
            hashes: lines.iter().map(|line| line_hash(line)).collect(),
        };
        self.added.iter().map(run).collect()
    }

    /// The removed lines as the ledger stores them; `None` if they are too many.
    #[must_use]
    pub(crate) fn removed_hashes(&self) -> Option<Vec<String>> {
        (self.removed.len() <= MAX_REMOVED).then(|| self.removed.iter().map(|line| bare_line_hash(line)).collect())
    }
}
