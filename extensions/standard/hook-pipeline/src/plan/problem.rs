//! What can be wrong with a plan, and where.
//!
//! Pure.

use std::fmt;

use dispatch_glob::GlobError;

/// Problems shown in one text; the others are counted.
const MAX_SHOWN: usize = 20;

/// One problem and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanProblem {
    /// Where, such as `nodes[2].scope[0]`; empty for the plan as a whole.
    pub place: String,
    /// What.
    pub kind: PlanProblemKind,
}

impl fmt::Display for PlanProblem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.place.is_empty() {
            return self.kind.fmt(formatter);
        }
        write!(formatter, "{}: {}", self.place, self.kind)
    }
}

/// What is wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanProblemKind {
    /// More bytes than a plan may have, or a file that cannot be read.
    #[error("cannot be read, or has more than {limit} bytes")]
    Unreadable {
        /// The most it may have.
        limit: u64,
    },
    /// Not JSON.
    #[error("not JSON: {0}")]
    NotJson(String),
    /// A field that must be there is not.
    #[error("is missing")]
    Missing,
    /// A value of another type.
    #[error("must be {0}")]
    WrongType(&'static str),
    /// A version that is not known.
    #[error("must be {known}")]
    Version {
        /// The one that is.
        known: u64,
    },
    /// A text or list that may not be empty.
    #[error("is empty")]
    Empty,
    /// A text or list that is longer than it may be.
    #[error("is too long: at most {limit}")]
    TooLong {
        /// The most it may have.
        limit: usize,
    },
    /// A character that an id may not have.
    #[error("may contain only letters, digits, `.`, `_` and `-`")]
    BadId,
    /// An id that an earlier node has.
    #[error("`{0}` is the id of an earlier node")]
    DuplicateId(String),
    /// A dependency that is not a node.
    #[error("`{0}` is not a node of the plan")]
    UnknownNode(String),
    /// Nodes that wait for each other.
    #[error("these nodes wait for each other: {}", .0.join(" -> "))]
    Cycle(Vec<String>),
    /// A glob that is refused.
    #[error("invalid glob: {0}")]
    Glob(#[source] GlobError),
    /// A glob that nothing can match.
    #[error("the glob is a comment or empty, so it matches nothing")]
    MatchesNothing,
    /// A glob that reaches outside the workspace.
    #[error("the glob `{0}` leaves the workspace; it must be relative and must not contain `..`")]
    OutsideWorkspace(String),
}

/// All problems in one text, one per line.
#[must_use]
pub(crate) fn describe(problems: &[PlanProblem]) -> String {
    let mut lines: Vec<String> = problems.iter().take(MAX_SHOWN).map(|problem| format!("- {problem}")).collect();
    if problems.len() > MAX_SHOWN {
        lines.push(format!("- and {} more", problems.len() - MAX_SHOWN));
    }
    lines.join("\n")
}
