//! What sessions of a workspace learned: candidates, how they are joined, and what the user makes of them.

mod candidate;
mod derive;
mod experience;
mod forget;
mod list;
mod promote;
mod relation;

#[cfg(test)]
mod tests;

pub use candidate::{
    CANDIDATES_LIMIT_BYTES, Candidate, CandidateKind, MAX_CANDIDATES, MAX_EVIDENCE, Trigger, merge, parse_candidates,
    write_candidates,
};
pub use derive::derive;
pub use experience::{Experience, Likeness, What, parse_experiences};
pub use forget::{Forgotten, forget};
pub use list::{Listed, find, list};
pub use promote::{Promotion, promote, rule_for, withdraw};
pub(crate) use relation::is_of_the_project;

/// The module whose files these are.
pub const JOURNAL: &str = "memory-journal";
/// Its log of what happened, below its output folder.
pub const EXPERIENCE_FILE: &str = "experience.jsonl";
/// Its candidates, below its output folder.
pub const CANDIDATES_FILE: &str = "candidates.json";
/// The ids that the user wants to hear no more of, below the folder of all sessions.
pub const FORGOTTEN_FILE: &str = "forgotten.json";

/// Why a file of the user's was left as it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MemoryError {
    /// Adding to it could lose what it holds.
    #[error("followup-rules.json is not usable as it is: {0}")]
    RulesUnusable(String),
    /// A rule of the user's has the name that the promoted one would get.
    #[error("followup-rules.json has another rule with the id `{0}`")]
    RuleExists(String),
    /// No candidate has this id.
    #[error("no candidate has the id `{0}`")]
    NotFound(String),
    /// Several candidates have an id that begins like this.
    #[error("`{0}` stands for several candidates")]
    Ambiguous(String),
}
