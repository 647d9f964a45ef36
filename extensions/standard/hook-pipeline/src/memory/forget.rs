//! Candidates that the user wants to hear no more of: they leave every file and do not come back.
//!
//! Pure.

use std::collections::BTreeSet;

use super::candidate::{MemoryCandidate, parse_candidates, write_candidates};

/// The ids of forgotten candidates, as `forgotten.json` has them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ForgottenCandidates(BTreeSet<String>);

impl ForgottenCandidates {
    /// The most ids that are kept.
    pub const MAX_IDS: usize = 1_000;
    /// The largest file that is read.
    pub const LIMIT_BYTES: u64 = 64 * 1024;

    /// The ids in a file; none if it is not a list of texts.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Self {
        let ids: Vec<String> = serde_json::from_slice(bytes).unwrap_or_default();
        Self(ids.into_iter().take(Self::MAX_IDS).collect())
    }

    /// The content of the file.
    #[must_use]
    pub fn write(&self) -> String {
        serde_json::to_string_pretty(&self.0).unwrap_or_else(|_| "[]".to_owned()) + "\n"
    }

    /// Adds an id.
    #[must_use]
    pub fn with(mut self, id: &str) -> Self {
        self.0.insert(id.to_owned());
        self
    }

    /// Whether a candidate is among them.
    #[must_use]
    pub fn contains(&self, candidate: &MemoryCandidate) -> bool {
        self.0.contains(&candidate.id)
    }
}

/// The text of a file of candidates without one of them; nothing if it is not in there.
#[must_use]
pub fn forget(candidates_text: &str, id: &str) -> Option<String> {
    let mut candidates = parse_candidates(candidates_text.as_bytes());
    let before = candidates.len();
    candidates.retain(|candidate| candidate.id != id);
    (candidates.len() < before).then(|| write_candidates(&candidates))
}
