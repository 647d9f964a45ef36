//! What happened in a workspace, whoever noticed it.
//!
//! Pure.

use super::hook::Trigger;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::path::PathBuf;

/// SHA-256 of a file's content, in hex.
pub type ContentHash = String;

/// Who noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// An editor, over LSP: certainly a person's save.
    Editor,
    /// The file system: anybody may have written.
    Watcher,
    /// A hook of git.
    Git,
    /// A person who asked for a run.
    Person,
    /// The clock.
    Schedule,
    /// Somebody outside, over HTTP or the command line.
    Outside,
}

/// What became of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Change {
    /// It is new.
    Created,
    /// It has new content.
    Changed,
    /// It is gone.
    Deleted,
    /// It has a new name.
    Renamed {
        /// The old name, relative to the workspace.
        from: String,
    },
}

/// A file that something happened to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileChange {
    /// Its name, relative to the workspace, with `/` between the parts.
    pub path: String,
    /// What happened.
    pub change: Change,
    /// Its content afterwards; none for a file that is gone or was not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_hash: Option<ContentHash>,
}

/// What happened.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// What it starts.
    pub trigger: Trigger,
    /// The workspace, absolute and without links.
    pub workspace: PathBuf,
    /// The files it is about. A hook of files runs once for each that fits it; other hooks once for all.
    pub files: Vec<FileChange>,
    /// Who noticed.
    pub source: Source,
    /// The one hook that is meant, when a person or the clock asks for it.
    pub hook: Option<String>,
    /// The sender's own name for it: the same one again is the same event.
    pub id: Option<String>,
    /// Facts for the run: the commit, the arguments of a git hook, what a sender wrote.
    pub metadata: Map<String, Value>,
}
