//! One line of the ledger.

use serde::{Deserialize, Serialize};

/// What a change is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum MutationClass {
    /// Another structure, the same behaviour.
    AstRefactor,
    /// New behaviour.
    IntentEvolution,
    /// A defect corrected.
    BugFix,
    /// Comments or documents only.
    Documentation,
    /// A file of configuration.
    Configuration,
    /// A new file.
    FileCreation,
    /// A file that is gone.
    FileDeletion,
}

/// Whether a change stayed in the files that its intent owns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum ScopeValidation {
    /// It did.
    Pass,
    /// It did not.
    Fail,
    /// It has no scope to stay in.
    Exempt,
}

/// The file of an entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileHashes {
    /// From the workspace's root, with `/` between the parts.
    pub relative_path: String,
    /// Before the change; `None` if there was no file.
    pub pre_hash: Option<String>,
    /// After the change; `None` if there is no file.
    pub post_hash: Option<String>,
}

/// Lines that a change put into a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddedLines {
    /// The number of the first one in the file after the change, from 1.
    pub start: u32,
    /// One [`line_hash`](crate::hash::line_hash) per line.
    pub hashes: Vec<String>,
}

/// Why a change may have met another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Concurrency {
    /// Another session's call on the same path overlapped with this one.
    Overlap,
    /// The file was not as the ledger left it.
    Drift,
    /// What was written is known, and something else is on disk.
    Content,
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
    /// The host's session, by the 8 digits that name it in `.ai/tmp`.
    pub session_id: String,
    /// The tool as its host names it.
    pub tool_name: String,
    /// What the change is.
    pub mutation_class: MutationClass,
    /// The file; `None` for a call whose changes could not be determined.
    pub file: Option<FileHashes>,
    /// Whether it stayed in scope.
    pub scope_validation: ScopeValidation,
    /// Whether the tool succeeded.
    pub success: bool,
    /// What went wrong.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub error: Option<String>,
    /// The host.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub host: Option<String>,
    /// The host's id of the call.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tool_use_id: Option<String>,
    /// The lines it added, when the change is text of a bearable size.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub added: Vec<AddedLines>,
    /// Other changes that it may have met.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub concurrent: Vec<Concurrency>,
    /// Whether the change was put back because it was out of scope.
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
