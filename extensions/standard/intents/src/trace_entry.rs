//! One entry of the ledger.
//!
//! Pure.

use serde::{Deserialize, Serialize};

/// What a change is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum MutationClass {
    /// A different structure with the same behaviour.
    AstRefactor,
    /// New behaviour.
    IntentEvolution,
    /// A fixed defect.
    BugFix,
    /// Only comments or documents.
    Documentation,
    /// A configuration file.
    Configuration,
    /// A new file.
    FileCreation,
    /// A deleted file.
    FileDeletion,
}

/// Whether a change stayed in the scope of its intent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum ScopeValidation {
    /// It did.
    Pass,
    /// It did not.
    Fail,
    /// No scope applies to it.
    Exempt,
}

/// The file of an entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileHashes {
    /// The path from the workspace's root, with `/` as separator.
    pub relative_path: String,
    /// The hash before the change; `None` if the file did not exist.
    pub pre_hash: Option<String>,
    /// The hash after the change; `None` if the file no longer exists.
    pub post_hash: Option<String>,
}

/// Consecutive lines that a change added to a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddedLines {
    /// The number of the first line in the file after the change, from 1.
    pub start: u32,
    /// One [`line_hash`](crate::hash::line_hash) per line.
    pub hashes: Vec<String>,
}

/// Why a change may conflict with another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Concurrency {
    /// A call of another session on the same path ran at the same time.
    Overlap,
    /// The file differed from its last entry before the call.
    Drift,
    /// The file differs from what the call wrote.
    Content,
    /// The call discarded changes that nobody had recorded: a person's.
    DiscardedEdit,
}

/// One change of one file, or one call whose changes could not be determined.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TraceEntry {
    /// A UUID.
    pub id: String,
    /// UTC, ISO 8601, to the millisecond.
    pub timestamp: String,
    /// The intent; empty where none was active (an escape).
    pub intent_id: String,
    /// The host session, by its 8 digits in `.ai/tmp`.
    pub session_id: String,
    /// The name of the tool in its host.
    pub tool_name: String,
    /// What the change is.
    pub mutation_class: MutationClass,
    /// The file; `None` for a call whose changes could not be determined.
    pub file: Option<FileHashes>,
    /// Whether it stayed in scope.
    pub scope_validation: ScopeValidation,
    /// Whether the tool succeeded.
    pub success: bool,
    /// The error of the tool.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub error: Option<String>,
    /// The host.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub host: Option<String>,
    /// The model, if the host names it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub model: Option<String>,
    /// The host's own id of the conversation.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub conversation: Option<String>,
    /// The host's id of the call.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tool_use_id: Option<String>,
    /// The added lines, if the change is text and not too large.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub added: Vec<AddedLines>,
    /// One [`bare_line_hash`](crate::hash::bare_line_hash) per removed line; `None` if they are unknown or too many.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub removed: Option<Vec<String>>,
    /// Why it may conflict with other changes.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub concurrent: Vec<Concurrency>,
    /// Whether the change was reverted because it was out of scope.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub reverted: bool,
    /// What could not be determined, and why.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub note: Option<String>,
    /// The hash of the line before.
    pub prev: String,
}

impl TraceEntry {
    /// The path of its file, if it has one.
    #[must_use]
    pub fn path(&self) -> Option<&str> {
        self.file.as_ref().map(|file| file.relative_path.as_str())
    }
}

/// One entry and its line in the ledger.
#[derive(Debug, Clone)]
pub(crate) struct RecordedChange {
    /// The line of the ledger, from 1.
    pub number: u64,
    /// The entry.
    pub entry: TraceEntry,
}
