//! The candidates of a workspace as the user sees them.
//!
//! Pure.

use super::candidate::{MemoryCandidate, merge, parse_candidates};
use super::forget::ForgottenCandidates;
use super::{MemoryError, promote::rule_for};
use crate::followup::FollowupRules;

/// A candidate and whether it is in force.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedCandidate {
    /// The candidate.
    pub candidate: MemoryCandidate,
    /// Whether a followup rule was made of it.
    pub promoted: bool,
}

/// All candidates of these files, best first.
#[must_use]
pub fn list<'a>(
    files: impl IntoIterator<Item = &'a [u8]>,
    forgotten: &ForgottenCandidates,
    rules: &FollowupRules,
) -> Vec<ListedCandidate> {
    let all = files.into_iter().flat_map(parse_candidates).filter(|candidate| !forgotten.contains(candidate));
    let listed = |candidate: MemoryCandidate| {
        let id = rule_for(&candidate).id;
        ListedCandidate { promoted: rules.rules.iter().any(|rule| rule.id == id), candidate }
    };
    merge(all).into_iter().map(listed).collect()
}

/// The candidate of this id, or the only one whose id begins so; `mem-` may be left out.
///
/// # Errors
/// When no candidate matches, or more than one.
pub fn find<'a>(listed: &'a [ListedCandidate], id: &str) -> Result<&'a ListedCandidate, MemoryError> {
    let fits = |entry: &&ListedCandidate| {
        let whole = entry.candidate.id.as_str();
        !id.is_empty() && (whole.starts_with(id) || whole.trim_start_matches("mem-").starts_with(id))
    };
    let mut found = listed.iter().filter(fits);
    match (found.next(), found.next()) {
        (Some(entry), None) => Ok(entry),
        (Some(_), Some(_)) => Err(MemoryError::Ambiguous(id.to_owned())),
        (None, _) => Err(MemoryError::NotFound(id.to_owned())),
    }
}
