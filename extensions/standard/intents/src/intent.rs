//! A declared intent.

use serde::{Deserialize, Serialize};

/// Where an intent stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum IntentStatus {
    /// Declared, not begun.
    Planned,
    /// Under way.
    InProgress,
    /// Done.
    Completed,
    /// Waiting for something.
    Blocked,
    /// Given up.
    Abandoned,
}

/// What an intent is for; decides the class of changes that say nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IntentKind {
    /// New behaviour.
    Feature,
    /// The same behaviour, built otherwise.
    Refactor,
    /// A defect corrected.
    Fix,
    /// Documents.
    Docs,
    /// Configuration.
    Config,
}

/// Whether other sessions may change the same files meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Claim {
    /// They may; it is recorded.
    #[default]
    Shared,
    /// They may not while this one is alive.
    Exclusive,
}

/// One declared intent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IntentSpec {
    /// Its id, such as `INT-001`.
    pub id: String,
    /// A title for people.
    pub name: String,
    /// Where it stands.
    pub status: IntentStatus,
    /// Globs from the workspace's root; a file in scope matches at least one.
    pub owned_scope: Vec<String>,
    /// What must hold.
    #[serde(default)]
    pub constraints: Vec<String>,
    /// When it is done.
    #[serde(default)]
    pub acceptance_criteria: Vec<String>,
    /// UTC, ISO 8601.
    #[serde(default)]
    pub created_at: String,
    /// UTC, ISO 8601.
    #[serde(default)]
    pub updated_at: String,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<IntentKind>,
    /// Whether it wants its files alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<Claim>,
}

impl IntentStatus {
    /// Whether work may go on under it.
    #[must_use]
    pub fn is_open(self) -> bool {
        !matches!(self, Self::Completed | Self::Abandoned)
    }
}

/// The file `active_intents.yaml`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IntentFile {
    /// The intents, in the order of the file.
    pub active_intents: Vec<IntentSpec>,
}
