//! The ledger of a workspace: entries are appended under a lock and found by an index.

mod append;
pub(crate) mod archive;
pub(crate) mod chain_ends;
mod index;
pub(crate) mod line;
mod line_reader;
mod tail;

use std::io;
use std::time::Duration;

use dispatch_os::files::{self, read_at_most};

use crate::chain::LedgerHead;
use crate::error::IntentsError;
use crate::layout::OrchestrationLayout;
use crate::trace_entry::TraceEntry;

pub(crate) use line::LedgerLine;
pub(crate) use line_reader::LedgerLineReader;

/// The most entries of an intent in the index.
pub(crate) const RECENT_ENTRIES: usize = 20;
/// How far back a search without an index reads.
pub(crate) const MAX_SEARCH_BYTES: u64 = 8 * 1024 * 1024;
/// The most files of the index that are read to list those of an intent.
#[cfg(feature = "count")]
pub(crate) const MAX_LISTED_FILES: usize = 20_000;
/// The pause before the second and last attempt at a busy lock.
const RETRY_PAUSE: Duration = Duration::from_millis(100);
/// The time limit of one attempt; each writer takes less than a millisecond.
const LOCK_WAIT: Duration = Duration::from_millis(1500);
const MAX_HEAD_BYTES: u64 = 64 * 1024;

/// The ledger of one workspace.
#[derive(Debug, Clone)]
pub(crate) struct Ledger {
    layout: OrchestrationLayout,
    lock_wait: Duration,
}

impl Ledger {
    /// The ledger of a workspace. Nothing is opened or created yet.
    #[must_use]
    pub(crate) fn open(layout: &OrchestrationLayout) -> Self {
        Self { layout: layout.clone(), lock_wait: LOCK_WAIT }
    }

    /// The same with this time limit for each of the two attempts at the lock.
    #[must_use]
    pub(crate) fn with_lock_wait(mut self, wait: Duration) -> Self {
        self.lock_wait = wait.min(LOCK_WAIT);
        self
    }

    /// Appends entries in their order and sets their `prev`. All of them are written at once, without a sync. An
    /// unfinished line of a killed writer is ended first and stays.
    ///
    /// # Errors
    /// [`IntentsError::Busy`] when the lock is busy at two attempts; else when a file cannot be written. The ledger may
    /// then contain a part of the entries, but no part of an entry that parses.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn append(&self, entries: Vec<TraceEntry>) -> Result<LedgerHead, IntentsError> {
        self.append_settled(entries, |_| true)
    }

    /// The same, with a last change of each entry under the lock, so that the entries have the order in which the files
    /// were read. An entry for which it answers `false` is left out.
    ///
    /// # Errors
    /// [`IntentsError::Busy`] when the lock is busy at two attempts; else when a file cannot be written.
    pub(crate) fn append_settled(
        &self,
        entries: Vec<TraceEntry>,
        settle: impl FnMut(&mut TraceEntry) -> bool,
    ) -> Result<LedgerHead, IntentsError> {
        append::append(&self.layout, self.lock_wait, entries, settle)
    }

    /// The newest entries of an intent, newest first, at most [`RECENT_ENTRIES`]. Unreadable ones are left out.
    #[must_use]
    pub(crate) fn recent(&self, intent: &str, limit: usize) -> Vec<TraceEntry> {
        let Ok(mut file) = files::open(self.layout.ledger_file()) else {
            return Vec::new();
        };
        index::recent(&self.layout, &mut file, intent, limit.min(RECENT_ENTRIES)).unwrap_or_default()
    }

    /// The newest entry about a path (from the workspace's root), if the index or the end of the ledger has one.
    #[must_use]
    pub(crate) fn last_of(&self, path: &str) -> Option<TraceEntry> {
        self.find_last(path).map(|(_, entry)| entry)
    }

    /// The same, if it starts at or after this offset.
    #[must_use]
    pub(crate) fn last_of_after(&self, path: &str, bytes: u64) -> Option<TraceEntry> {
        self.find_last(path).filter(|(offset, _)| *offset >= bytes).map(|(_, entry)| entry)
    }

    /// The length of the ledger.
    #[must_use]
    pub(crate) fn bytes(&self) -> u64 {
        files::metadata(self.layout.ledger_file()).map_or(0, |metadata| metadata.len())
    }

    fn find_last(&self, path: &str) -> Option<(u64, TraceEntry)> {
        let mut file = files::open(self.layout.ledger_file()).ok()?;
        index::last_of(&self.layout, &mut file, path).ok().flatten()
    }

    /// The files that an intent changed last, newest change first, with that change. Files beyond the first
    /// [`MAX_LISTED_FILES`] of the index are ignored.
    #[cfg(feature = "count")]
    #[must_use]
    pub(crate) fn files_of(&self, intent: &str) -> Vec<TraceEntry> {
        let Ok(mut file) = files::open(self.layout.ledger_file()) else {
            return Vec::new();
        };
        let all = index::last_of_all(&self.layout, &mut file, MAX_LISTED_FILES).unwrap_or_default();
        let mut mine: Vec<TraceEntry> = all.into_iter().filter(|entry| entry.intent_id == intent).collect();
        mine.sort_by(|one, other| (&other.timestamp, other.path()).cmp(&(&one.timestamp, one.path())));
        mine
    }

    /// The end of the ledger after the last append; `None` if it is not known.
    #[must_use]
    pub(crate) fn head(&self) -> Option<LedgerHead> {
        read_head(&self.layout)
    }

    /// The same, from the indexes if its file is gone.
    #[must_use]
    pub(crate) fn known_head(&self) -> Option<LedgerHead> {
        self.head().or_else(|| index::known_end(&self.layout))
    }

    /// Every line from the first to the last, valid or not, those of the archives first.
    ///
    /// # Errors
    /// When a file exists and cannot be opened. An absent one has no lines.
    pub(crate) fn lines(&self) -> io::Result<impl Iterator<Item = io::Result<LedgerLine>> + use<>> {
        let mut all = self.archives();
        all.push(self.layout.ledger_file());
        archive::chained(all)
    }

    /// Every line that is not in an archive.
    ///
    /// # Errors
    /// When the ledger exists and cannot be opened. An absent one has no lines.
    pub(crate) fn present_lines(&self) -> io::Result<LedgerLineReader> {
        LedgerLineReader::open(&self.layout.ledger_file())
    }

    /// The lines of the archives.
    ///
    /// # Errors
    /// When an archive cannot be opened.
    pub(crate) fn archived_lines(&self) -> io::Result<impl Iterator<Item = io::Result<LedgerLine>> + use<>> {
        archive::chained(self.archives())
    }
}

fn read_head(layout: &OrchestrationLayout) -> Option<LedgerHead> {
    let text = read_at_most(&layout.head_file(), MAX_HEAD_BYTES).ok()?;
    serde_json::from_slice(&text).ok()
}

#[cfg(test)]
mod tests;
