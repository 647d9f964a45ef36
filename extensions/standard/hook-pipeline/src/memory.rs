//! What sessions of a workspace learned: candidates, how they are joined, and what the user makes of them.
//!
//! Pure.

mod candidate;
mod derive;
mod experience;
mod forget;
mod list;
mod promote;
mod relation;

#[cfg(test)]
mod tests;

pub use candidate::CANDIDATES_LIMIT_BYTES;
#[cfg(test)]
pub(crate) use candidate::CandidateKind;
pub(crate) use candidate::{MemoryCandidate, merge, parse_candidates, write_candidates};
pub(crate) use derive::derive;
pub(crate) use experience::{CommandSimilarity, Experience, ExperienceKind, parse_experiences};
pub use forget::{ForgottenCandidates, forget};
pub use list::{ListedCandidate, find, list};
pub use promote::{Promotion, promote, withdraw};
pub(crate) use relation::is_of_the_project;

/// The module whose files these are.
pub const JOURNAL: &str = "memory-journal";
/// Its log of what happened, below its output folder.
pub(crate) const EXPERIENCE_FILE: &str = "experience.jsonl";
/// Its candidates, below its output folder.
pub const CANDIDATES_FILE: &str = "candidates.json";
/// The ids that the user dismissed, below the folder of all sessions.
pub const FORGOTTEN_FILE: &str = "forgotten.json";

/// Why a file of the user was not changed.
#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    /// The file is not JSON, so adding to it could lose what it holds.
    #[error("cannot edit followup-rules.json: {0}")]
    RulesNotJson(#[source] serde_json::Error),
    /// The file is JSON of another shape, so adding to it could lose what it holds.
    #[error("cannot edit followup-rules.json: {0}")]
    RulesShape(&'static str),
    /// A rule of the user has the id that the promoted one would get.
    #[error("followup-rules.json already has a different rule with the id `{0}`")]
    RuleExists(String),
    /// No candidate has this id.
    #[error("no candidate has the id `{0}`")]
    NotFound(String),
    /// Several candidates have an id that begins like this.
    #[error("`{0}` matches several candidates")]
    Ambiguous(String),
}
