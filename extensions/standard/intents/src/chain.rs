//! The hash chain of the ledger: each line contains the hash of the line before it, and a small file beside the ledger
//! contains the hash of the last one, so that editing, moving, repeating or removing a line is detected.
//!
//! Pure.

use serde::{Deserialize, Serialize};

use crate::hash::content_hash;

/// What the first line contains as the hash of the line before it.
pub(crate) const START: &str = "sha256:0000000000000000000000000000000000000000000000000000000000000000";

/// The hash that the next line must contain. `line` has no line ending.
#[must_use]
pub(crate) fn link(line: &[u8]) -> String {
    content_hash(line)
}

/// The end of the ledger, as stored in `agent_trace.head`. It is written after the line, so after a crash it can be
/// behind the ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LedgerHead {
    /// Lines in the ledger.
    pub entries: u64,
    /// Bytes in the ledger.
    pub bytes: u64,
    /// The link of the last line.
    pub last: String,
}

impl Default for LedgerHead {
    fn default() -> Self {
        Self { entries: 0, bytes: 0, last: START.to_owned() }
    }
}
