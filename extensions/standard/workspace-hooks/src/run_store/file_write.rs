//! Which run wrote a file, so that the report of its own work starts nothing.

use crate::contract::ContentHash;

/// Whether a writer is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileWriteState {
    /// The run goes on.
    Live,
    /// The run left the file so.
    Left,
}

/// That a run wrote a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileWrite {
    /// The digest of the file's name.
    pub(crate) path: String,
    pub(crate) run: u64,
    pub(crate) state: FileWriteState,
    /// What it left; none if the file was gone.
    pub(crate) content: Option<ContentHash>,
    pub(crate) at_ms: u64,
}
