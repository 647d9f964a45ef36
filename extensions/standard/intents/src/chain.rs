//! The chain that runs through the ledger: each line names the hash of the line before it, and a small
//! file beside the ledger names the last one, so that no line can be edited, moved, doubled or dropped
//! without a trace.

use serde::{Deserialize, Serialize};

use crate::hash::content_hash;

/// What the first line names as the line before it.
pub const START: &str = "sha256:0000000000000000000000000000000000000000000000000000000000000000";

/// What the line after this one must name. `line` has no line ending.
#[must_use]
pub fn link(line: &[u8]) -> String {
    content_hash(line)
}

/// The end of the ledger, as kept in `agent_trace.head`. It is written after the line, so a crash can
/// leave it behind the ledger but never ahead of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// Lines in the ledger.
    pub entries: u64,
    /// Bytes in the ledger.
    pub bytes: u64,
    /// The link of the last line.
    pub last: String,
}

impl Default for Head {
    fn default() -> Self {
        Self { entries: 0, bytes: 0, last: START.to_owned() }
    }
}
