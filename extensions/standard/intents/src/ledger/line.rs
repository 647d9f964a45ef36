//! One line of the ledger and its link in the chain.
//!
//! Pure.

use crate::chain;
use crate::trace_entry::TraceEntry;

/// Only this much of a longer line is held in memory; its link is computed from all of it.
pub(crate) const MAX_LINE_BYTES: usize = 16 * 1024 * 1024;

/// One line of the ledger, without its line feed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LedgerLine {
    /// From 1.
    pub number: u64,
    /// Where it starts.
    pub offset: u64,
    /// How long it is, without its line feed.
    pub length: u64,
    /// Its bytes; only the first [`MAX_LINE_BYTES`] of a longer one.
    pub bytes: Vec<u8>,
    /// Whether a line feed ends it; a line without one is torn or being written.
    pub ended: bool,
    /// The link of a line that is longer than [`MAX_LINE_BYTES`].
    pub(super) long_link: Option<String>,
}

impl LedgerLine {
    /// The same line under another number.
    #[must_use]
    pub(crate) fn numbered(self, number: u64) -> Self {
        Self { number, ..self }
    }

    /// The hash that the next line must have in `prev`.
    #[must_use]
    pub(crate) fn link(&self) -> String {
        self.long_link.clone().unwrap_or_else(|| chain::link(&self.bytes))
    }

    /// Its entry.
    ///
    /// # Errors
    /// When the line is not an entry.
    pub(crate) fn entry(&self) -> Result<TraceEntry, serde_json::Error> {
        serde_json::from_slice(&self.bytes)
    }
}
