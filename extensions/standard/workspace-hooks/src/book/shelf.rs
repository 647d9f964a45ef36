//! What a step can do to the book: small reads by index, and writes.

use super::{BookError, Key, Run};
use crate::contract::{ContentHash, RunId, Usage};

/// Records older than this go.
pub(crate) const KEPT_MS: u64 = 30 * 24 * 60 * 60 * 1000;
/// The most records that are kept.
pub(crate) const KEPT_RECORDS: u64 = 50_000;
/// How long it is known who wrote a file.
pub(crate) const WRITES_KEPT_MS: u64 = 24 * 60 * 60 * 1000;
/// The most rows that one clearing removes, so that nobody waits for it.
pub(crate) const CLEARED_AT_ONCE: u32 = 1_000;

/// Whether a writer is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WriteState {
    /// The run goes on.
    Live,
    /// The run left the file so.
    Left,
}

/// That a run wrote a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Write {
    /// The digest of the file's name.
    pub(crate) path: String,
    pub(crate) run: u64,
    pub(crate) state: WriteState,
    /// What it left; none if the file was gone.
    pub(crate) content: Option<ContentHash>,
    pub(crate) at_ms: u64,
}

/// The book within one step.
pub(crate) trait Shelf {
    fn find(&mut self, number: u64) -> Result<Option<Run>, BookError>;
    fn named(&mut self, id: &RunId) -> Result<Option<Run>, BookError>;
    /// The newest run of a key that waits.
    fn waiting(&mut self, key: &Key) -> Result<Option<Run>, BookError>;
    /// The run of a key that was begun last.
    fn last_begun(&mut self, key: &Key) -> Result<Option<Run>, BookError>;
    /// The keys of the runs that go.
    fn running(&mut self, workspace: &str) -> Result<Vec<Key>, BookError>;
    fn waiting_count(&mut self, workspace: &str) -> Result<u64, BookError>;
    /// Waiting runs of a hook.
    fn waiting_of(&mut self, workspace: &str, hook: &str, limit: u32) -> Result<Vec<Run>, BookError>;
    /// When runs of a hook began, newest first, none before `since_ms` or after `now_ms`.
    fn begun_since(
        &mut self,
        workspace: &str,
        hook: &str,
        since_ms: u64,
        now_ms: u64,
        limit: u32,
    ) -> Result<Vec<u64>, BookError>;
    fn spent(&mut self, workspace: &str, hook: &str, day: u64) -> Result<Usage, BookError>;
    fn spend(&mut self, workspace: &str, hook: &str, day: u64, usage: Usage) -> Result<(), BookError>;
    /// Notes an event; false if it is known already.
    fn note_event(&mut self, workspace: &str, event: &str, now_ms: u64) -> Result<bool, BookError>;
    /// Who wrote a file.
    fn writes(&mut self, workspace: &str, path: &str) -> Result<Vec<Write>, BookError>;
    fn keep_write(&mut self, workspace: &str, write: &Write) -> Result<(), BookError>;
    /// Forgets what ended runs left of a file: it holds something else now.
    fn forget_left(&mut self, workspace: &str, path: &str) -> Result<(), BookError>;
    /// Forgets what a run was seen to write.
    fn forget_live(&mut self, run: u64) -> Result<(), BookError>;
    /// Puts a new run in; it gets its number and its version.
    fn insert(&mut self, run: &mut Run) -> Result<(), BookError>;
    /// Stores a run as it is now, with a new version.
    fn save(&mut self, run: &mut Run) -> Result<(), BookError>;
    fn remove(&mut self, number: u64) -> Result<(), BookError>;
    fn keep_output(&mut self, number: u64, output: &str) -> Result<(), BookError>;
    /// Says that an owner is alive.
    fn beat(&mut self, owner: &str, now_ms: u64) -> Result<(), BookError>;
    /// Removes what is too old; answers how many runs went.
    fn clear(&mut self, now_ms: u64) -> Result<u64, BookError>;
}
