//! The ledger of a workspace: appended to under a lock, asked by index, never rewritten.

mod append;
mod index;
mod line_reader;
mod tail;

use std::fs::File;
use std::io;
use std::time::Duration;

use dispatch_os::files::read_at_most;

use crate::chain::Head;
use crate::entry::TraceEntry;
use crate::error::IntentsError;
use crate::layout::Layout;

pub use line_reader::{Line, LineReader, MAX_LINE_BYTES};

/// How many entries of an intent are found without a search.
pub const RECENT_ENTRIES: usize = 20;
/// How far back a search without an index reads.
pub const MAX_SEARCH_BYTES: u64 = 8 * 1024 * 1024;
/// How many files of the index are looked at to list those of an intent.
pub const MAX_LISTED_FILES: usize = 20_000;
/// The pause before the only other attempt at a lock that others keep.
const RETRY_PAUSE: Duration = Duration::from_millis(100);
/// How long one attempt waits for writers that each take less than a millisecond.
const LOCK_WAIT: Duration = Duration::from_millis(1500);
const MAX_HEAD_BYTES: u64 = 4096;

/// The ledger of one workspace.
#[derive(Debug, Clone)]
pub struct Ledger {
    layout: Layout,
    lock_wait: Duration,
}

impl Ledger {
    /// The ledger of a workspace. Nothing is opened or created yet.
    #[must_use]
    pub fn open(layout: &Layout) -> Self {
        Self { layout: layout.clone(), lock_wait: LOCK_WAIT }
    }

    /// The same, waiting at most this long for other writers, twice.
    #[must_use]
    pub fn with_lock_wait(mut self, wait: Duration) -> Self {
        self.lock_wait = wait.min(LOCK_WAIT);
        self
    }

    /// Adds entries in their order; what they say in `prev` is replaced. All of them go to the file in
    /// one write, which is not synced. A line that a killed writer left open is ended first and stays.
    ///
    /// # Errors
    /// [`IntentsError::Busy`] when others keep the lock, after one more attempt; else when the system
    /// refuses. The ledger may then hold a part of the entries, never a part of one that parses.
    pub fn append(&self, entries: Vec<TraceEntry>) -> Result<Head, IntentsError> {
        self.append_settled(entries, |_| {})
    }

    /// The same, with a last look at each entry while nobody else can append: what is told there is
    /// told in the order in which it was seen.
    ///
    /// # Errors
    /// Those of [`Self::append`].
    pub fn append_settled(
        &self,
        entries: Vec<TraceEntry>,
        settle: impl FnMut(&mut TraceEntry),
    ) -> Result<Head, IntentsError> {
        append::append(&self.layout, self.lock_wait, entries, settle)
    }

    /// The newest entries of an intent, newest first, at most [`RECENT_ENTRIES`]. What cannot be read is not there.
    #[must_use]
    pub fn recent(&self, intent: &str, limit: usize) -> Vec<TraceEntry> {
        let Ok(mut file) = File::open(self.layout.ledger_file()) else {
            return Vec::new();
        };
        index::recent(&self.layout, &mut file, intent, limit.min(RECENT_ENTRIES)).unwrap_or_default()
    }

    /// The newest entry about a path (from the workspace's root), if the index or the end of the ledger has one.
    #[must_use]
    pub fn last_of(&self, path: &str) -> Option<TraceEntry> {
        self.find_last(path).map(|(_, entry)| entry)
    }

    /// The same, if the ledger was at most this long before it.
    #[must_use]
    pub fn last_of_after(&self, path: &str, bytes: u64) -> Option<TraceEntry> {
        self.find_last(path).filter(|(offset, _)| *offset >= bytes).map(|(_, entry)| entry)
    }

    /// How long the ledger is.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.layout.ledger_file().metadata().map_or(0, |metadata| metadata.len())
    }

    fn find_last(&self, path: &str) -> Option<(u64, TraceEntry)> {
        let mut file = File::open(self.layout.ledger_file()).ok()?;
        index::last_of(&self.layout, &mut file, path).ok().flatten()
    }

    /// The files that an intent changed last, newest change first, with that change. Files beyond the first
    /// [`MAX_LISTED_FILES`] of the index are not looked at.
    #[must_use]
    pub fn files_of(&self, intent: &str) -> Vec<TraceEntry> {
        let Ok(mut file) = File::open(self.layout.ledger_file()) else {
            return Vec::new();
        };
        let all = index::last_of_all(&self.layout, &mut file, MAX_LISTED_FILES).unwrap_or_default();
        let mut mine: Vec<TraceEntry> = all.into_iter().filter(|entry| entry.intent_id == intent).collect();
        mine.sort_by(|one, other| (&other.timestamp, other.path()).cmp(&(&one.timestamp, one.path())));
        mine
    }

    /// What the end of the ledger looked like after the last append; `None` if that is not known.
    #[must_use]
    pub fn head(&self) -> Option<Head> {
        read_head(&self.layout)
    }

    /// Every line from the first to the last, whatever it holds.
    ///
    /// # Errors
    /// When there is a ledger that cannot be opened. An absent one has no lines.
    pub fn lines(&self) -> io::Result<LineReader> {
        LineReader::open(&self.layout.ledger_file())
    }
}

fn read_head(layout: &Layout) -> Option<Head> {
    let text = read_at_most(&layout.head_file(), MAX_HEAD_BYTES).ok()?;
    serde_json::from_slice(&text).ok()
}

#[cfg(test)]
mod tests;
