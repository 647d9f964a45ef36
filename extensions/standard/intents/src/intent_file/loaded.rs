//! The content of the intent file after reading it: the valid intents and the problems.
//!
//! Pure.

use std::fmt;

use serde::Serialize;

use crate::intent::IntentSpec;

/// The only key of the file.
pub(super) const ROOT_KEY: &str = "active_intents";
const ID_PREFIX: &str = "INT-";

/// A position in the file, both from 1; the column in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct TextPosition {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

impl TextPosition {
    /// The beginning of the file.
    pub const START: Self = Self { line: 1, column: 1 };
}

/// How serious a problem is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ProblemSeverity {
    /// A part of the file is ignored.
    Error,
    /// Everything is used, but probably not as intended.
    Warning,
}

/// One thing that is wrong with the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct IntentFileProblem {
    /// Where.
    #[serde(flatten)]
    pub position: TextPosition,
    /// How serious it is.
    pub severity: ProblemSeverity,
    /// What is wrong.
    pub message: String,
    /// How to fix it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The intent that is ignored because of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub intent: Option<String>,
}

impl fmt::Display for IntentFileProblem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let warning = if self.severity == ProblemSeverity::Warning { "warning: " } else { "" };
        write!(formatter, "{}:{}: {warning}{}", self.position.line, self.position.column, self.message)?;
        self.hint.as_ref().map_or(Ok(()), |hint| write!(formatter, " ({hint})"))
    }
}

/// Whether the file could be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IntentFileState {
    /// The file does not exist, so intents are off.
    Absent,
    /// The file has no valid content.
    Malformed,
    /// The file was read; invalid intents in it are ignored.
    Read,
}

/// The valid content of the file, and its problems.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadedIntents {
    /// Whether the file could be used.
    pub state: IntentFileState,
    /// The intents, in the order of the file.
    pub intents: Vec<IntentSpec>,
    /// What is wrong, in the order of the file.
    pub problems: Vec<IntentFileProblem>,
}

impl LoadedIntents {
    /// The intent with this id.
    #[must_use]
    pub fn intent(&self, id: &str) -> Option<&IntentSpec> {
        self.intents.iter().find(|intent| intent.id == id)
    }

    /// Why a declared intent is ignored, if it is.
    #[must_use]
    pub fn problem_of(&self, id: &str) -> Option<&IntentFileProblem> {
        self.problems.iter().find(|problem| problem.intent.as_deref() == Some(id))
    }

    /// Whether a part of the file is ignored.
    #[must_use]
    pub fn has_errors(&self) -> bool {
        self.problems.iter().any(|problem| problem.severity == ProblemSeverity::Error)
    }

    /// The intents that ask for a mode looser than `enforce`, such as `INT-001 observe`, a line each. They count once
    /// the user approved this text.
    #[must_use]
    pub fn looser_modes(&self) -> String {
        crate::intent::looser_modes(&self.intents)
    }

    /// `INT-` and one more than the highest number in use.
    #[must_use]
    pub fn next_free_id(&self) -> String {
        let number = |intent: &IntentSpec| intent.id.strip_prefix(ID_PREFIX)?.parse::<u64>().ok();
        let highest = self.intents.iter().filter_map(number).max().unwrap_or_default();
        format!("{ID_PREFIX}{:03}", highest.saturating_add(1))
    }

    pub(super) fn malformed(position: TextPosition, message: impl Into<String>, hint: Option<&str>) -> Self {
        let problem = IntentFileProblem {
            position,
            severity: ProblemSeverity::Error,
            message: message.into(),
            hint: hint.map(str::to_owned),
            intent: None,
        };
        Self { state: IntentFileState::Malformed, intents: Vec::new(), problems: vec![problem] }
    }
}
