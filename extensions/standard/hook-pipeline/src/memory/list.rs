//! The candidates of a workspace as the user sees them.

use super::candidate::{Candidate, merge, parse_candidates};
use super::forget::Forgotten;
use super::{MemoryError, promote::rule_for};
use crate::followup::FollowupRules;

/// A candidate and whether it is in force.
#[derive(Debug, Clone, PartialEq)]
pub struct Listed {
    /// The candidate.
    pub candidate: Candidate,
    /// Whether a followup rule was made of it.
    pub promoted: bool,
}

/// All candidates of these files, best first.
#[must_use]
pub fn list<'a>(
    files: impl IntoIterator<Item = &'a [u8]>,
    forgotten: &Forgotten,
    rules: &FollowupRules,
) -> Vec<Listed> {
    let all = files.into_iter().flat_map(parse_candidates).filter(|candidate| !forgotten.contains(candidate));
    let listed = |candidate: Candidate| {
        let id = rule_for(&candidate).id;
        Listed { promoted: rules.rules.iter().any(|rule| rule.id == id), candidate }
    };
    merge(all).into_iter().map(listed).collect()
}

/// The candidate of this id, or the only one whose id begins so; `mem-` may be left out.
///
/// # Errors
/// When there is none, or more than one.
pub fn find<'a>(listed: &'a [Listed], id: &str) -> Result<&'a Listed, MemoryError> {
    let fits = |entry: &&Listed| {
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
