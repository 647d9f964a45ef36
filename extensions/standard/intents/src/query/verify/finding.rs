//! What verification finds, in the words that scripts rely on.

use serde::Serialize;

/// What is wrong with a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// It is not what was written.
    Edited,
    /// A line that was written here is gone.
    Removed,
    /// It stands elsewhere than it was written.
    Reordered,
    /// It is there a second time.
    Duplicated,
    /// It is no entry.
    Malformed,
    /// It has no end.
    Torn,
    /// Its id belongs to another entry.
    DuplicateId,
    /// The end of the ledger is not known.
    Head,
    /// Lines follow the end that the last writer recorded.
    PastHead,
    /// A commit remembers another ledger.
    Anchor,
    /// A file was changed between two entries, by nobody the ledger knows.
    Gap,
    /// A file is not as its last entry left it.
    Content,
}

/// Something that is not as it should be, and where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// The line of the ledger, from 1.
    pub line: u64,
    /// What it is.
    pub kind: Kind,
    /// For people.
    pub detail: String,
}

/// The result of a verification.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verification {
    /// Lines that are entries.
    pub entries: u64,
    /// What shows that the ledger was tampered with or damaged.
    pub problems: Vec<Problem>,
    /// What honest use brings about too: changes by people, and traces of a crash.
    pub notes: Vec<Problem>,
    /// Files that are exactly as their last entry left them.
    pub files: u64,
    /// Anchors of commits that were found in place.
    pub anchors: u64,
}

impl Verification {
    /// The same with the changes that no entry explains held to be problems too.
    #[must_use]
    pub fn strict(mut self) -> Self {
        let (unexplained, notes) =
            self.notes.into_iter().partition(|note| matches!(note.kind, Kind::Gap | Kind::Content));
        self.notes = notes;
        self.problems.extend::<Vec<Problem>>(unexplained);
        self.problems.sort_by_key(|problem| (problem.line, problem.kind));
        self
    }
}
