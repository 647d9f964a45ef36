//! The findings of a verification; their names are part of the JSON output.
//!
//! Pure.

use std::fmt;

use serde::Serialize;

/// The kind of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FindingKind {
    /// The line was changed.
    Edited,
    /// A line was removed here.
    Removed,
    /// The line is not an entry.
    Malformed,
    /// The last line is incomplete.
    Torn,
    /// Another entry has the same id.
    DuplicateId,
    /// The line follows one that git removed: a revert, a dropped commit, a reset.
    Dropped,
    /// The anchor of a commit does not match.
    Anchor,
    /// A file changed between two entries without an entry.
    Gap,
    /// A file differs from its last entry.
    Content,
}

impl FindingKind {
    /// Whether a note of this kind is a problem in a strict verification.
    fn is_unexplained(self) -> bool {
        matches!(self, Self::Gap | Self::Content | Self::Dropped)
    }

    /// The kind as people read it.
    #[must_use]
    pub fn in_words(self) -> &'static str {
        match self {
            Self::Edited => "edited",
            Self::Removed => "removed",
            Self::Malformed => "malformed",
            Self::Torn => "torn",
            Self::DuplicateId => "duplicate id",
            Self::Dropped => "dropped",
            Self::Anchor => "anchor",
            Self::Gap => "gap",
            Self::Content => "content",
        }
    }
}

/// A problem or a note, and where it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LedgerFinding {
    /// The line of the ledger, from 1.
    pub line: u64,
    /// Its kind.
    pub kind: FindingKind,
    /// Details for people.
    pub detail: String,
}

impl fmt::Display for LedgerFinding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "line {}: {}: {}", self.line, self.kind.in_words(), self.detail)
    }
}

/// The result of a verification.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LedgerVerification {
    /// The number of different entries.
    pub entries: u64,
    /// Lines that are the same as another one; a merge causes this.
    pub repeated: u64,
    /// Findings that show tampering or damage.
    pub problems: Vec<LedgerFinding>,
    /// Findings of normal use: changes by people, and traces of a crash.
    pub notes: Vec<LedgerFinding>,
    /// The number of files that equal their last entry.
    pub files: u64,
    /// Anchors of commits that match the ledger.
    pub anchors: u64,
    /// Anchors of commits that were compared.
    pub compared_anchors: u64,
}

impl LedgerVerification {
    /// The same with unexplained changes of files and dropped lines as problems.
    #[must_use]
    pub fn strict(mut self) -> Self {
        let (unexplained, notes) = self.notes.into_iter().partition(|note| note.kind.is_unexplained());
        self.notes = notes;
        self.problems.extend::<Vec<LedgerFinding>>(unexplained);
        self.problems.sort_by_key(|problem| (problem.line, problem.kind));
        self
    }
}
