//! The allowed transitions between the statuses of an intent.
//!
//! Pure.

#[cfg(any(test, feature = "count"))]
use crate::intent::IntentKind;
use crate::intent::IntentStatus;

/// Whether a completed or abandoned intent may be reopened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reopen {
    /// It stays closed.
    No,
    /// It may become in progress.
    Yes,
}

impl From<bool> for Reopen {
    fn from(reopen: bool) -> Self {
        if reopen { Self::Yes } else { Self::No }
    }
}

impl IntentStatus {
    /// As the intent file writes it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Planned => "PLANNED",
            Self::InProgress => "IN_PROGRESS",
            Self::Completed => "COMPLETED",
            Self::Blocked => "BLOCKED",
            Self::Abandoned => "ABANDONED",
        }
    }

    /// The statuses that may follow.
    #[must_use]
    pub fn next(self, reopen: Reopen) -> &'static [Self] {
        match (self, reopen) {
            (Self::Planned, _) => &[Self::InProgress, Self::Blocked, Self::Abandoned],
            (Self::InProgress, _) => &[Self::Completed, Self::Blocked, Self::Abandoned],
            (Self::Blocked, _) => &[Self::InProgress, Self::Abandoned],
            (Self::Completed | Self::Abandoned, Reopen::Yes) => &[Self::InProgress],
            (Self::Completed | Self::Abandoned, Reopen::No) => &[],
        }
    }
}

#[cfg(any(test, feature = "count"))]
impl IntentKind {
    /// As the continuation of a sentence.
    pub(crate) fn in_words(self) -> &'static str {
        match self {
            Self::Feature => ", a feature",
            Self::Refactor => ", a refactoring",
            Self::Fix => ", a fix",
            Self::Docs => ", documentation",
            Self::Config => ", configuration",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use IntentStatus::{Abandoned, Blocked, Completed, InProgress, Planned};

    #[test]
    fn only_the_transitions_of_the_table_are_allowed() {
        let all = [Planned, InProgress, Completed, Blocked, Abandoned];
        let legal = [
            (Planned, InProgress),
            (Planned, Blocked),
            (Planned, Abandoned),
            (InProgress, Completed),
            (InProgress, Blocked),
            (InProgress, Abandoned),
            (Blocked, InProgress),
            (Blocked, Abandoned),
        ];
        for from in all {
            for to in all {
                assert_eq!(from.next(Reopen::No).contains(&to), legal.contains(&(from, to)), "{from:?} {to:?}");
            }
            assert_eq!(from.next(Reopen::Yes).contains(&InProgress), from != InProgress);
            let spelled = serde_json::to_value(from).unwrap();
            assert_eq!(spelled, from.as_str());
        }
    }
}
