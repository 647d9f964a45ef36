//! A declared intent, as the intent file declares it.
//!
//! Pure.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The status of an intent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum IntentStatus {
    /// Declared, not started.
    Planned,
    /// Started.
    InProgress,
    /// Done.
    Completed,
    /// Waiting for something.
    Blocked,
    /// Stopped without being completed.
    Abandoned,
}

/// The kind of an intent; the default class of its changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IntentKind {
    /// New behaviour.
    Feature,
    /// A different structure with the same behaviour.
    Refactor,
    /// A fixed defect.
    Fix,
    /// Documents.
    Docs,
    /// Configuration.
    Config,
}

/// Whether other sessions may change the same files at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClaimMode {
    /// They may, and overlaps are recorded.
    #[default]
    Shared,
    /// They may not, while a session holds the claim.
    Exclusive,
}

/// What becomes of a call that an intent does not allow, from the loosest to the strictest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IntentMode {
    /// It runs and is recorded.
    Observe,
    /// It runs, is recorded, and the agent is told.
    Warn,
    /// It is refused.
    #[default]
    Enforce,
}

impl IntentMode {
    /// The name in files.
    #[must_use]
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Observe => "observe",
            Self::Warn => "warn",
            Self::Enforce => "enforce",
        }
    }
}

/// The intents that ask for a mode looser than the default, a line each: what the user approves of an intent file.
/// The rest of the file changes all the time and loosens nothing.
#[must_use]
pub(crate) fn looser_modes(intents: &[IntentSpec]) -> String {
    let line = |intent: &IntentSpec| {
        let mode = intent.mode.filter(|mode| *mode < IntentMode::Enforce)?;
        Some(format!("{} {}\n", intent.id, mode.as_str()))
    };
    let mut lines: Vec<String> = intents.iter().filter_map(line).collect();
    lines.sort_unstable();
    lines.concat()
}

/// One declared intent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IntentSpec {
    /// Its id, such as `INT-001`.
    pub id: String,
    /// A title for people.
    pub name: String,
    /// Its status.
    pub status: IntentStatus,
    /// Globs from the workspace's root; a file is in scope if at least one matches and no `!` glob does.
    pub owned_scope: Vec<String>,
    /// Constraints on the changes.
    #[serde(default)]
    pub constraints: Vec<String>,
    /// Acceptance criteria.
    #[serde(default)]
    pub acceptance_criteria: Vec<String>,
    /// UTC, ISO 8601.
    #[serde(default)]
    pub created_at: String,
    /// UTC, ISO 8601.
    #[serde(default)]
    pub updated_at: String,
    /// Its kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<IntentKind>,
    /// Whether it keeps other sessions out of its files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<ClaimMode>,
    /// What becomes of a call that it does not allow; `None` is the mode of the workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<IntentMode>,
}

impl IntentStatus {
    /// Whether the intent can be selected.
    #[must_use]
    pub fn is_open(self) -> bool {
        !matches!(self, Self::Completed | Self::Abandoned)
    }
}

/// The file `active_intents.yaml`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct IntentFile {
    /// The intents, in the order of the file.
    pub active_intents: Vec<IntentSpec>,
    /// Why intents are ignored, by their ids.
    #[serde(default)]
    pub ignored: BTreeMap<String, String>,
}
