//! The errors of this crate, each with its cause.

use std::io;
use std::path::{Path, PathBuf};

use dispatch_os::OsError;

use crate::intent_file::{IntentFileProblem, TextPosition};

/// Why an operation on intents or on the ledger failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IntentsError {
    /// A system call on a file failed.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// The attempted action, as a verb.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// An operation of the platform failed.
    #[error(transparent)]
    Os(#[from] OsError),
    /// Another process held the lock of the ledger for too long.
    #[error("the ledger is in use by another process")]
    Busy,
    /// A path that must be a regular file is a link, a folder or a device.
    #[error("{} is not a regular file", path.display())]
    NotAFile {
        /// The path.
        path: PathBuf,
    },
    /// A value could not be written as JSON.
    #[error("cannot write JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// The intent file has invalid YAML.
    #[error("line {}, column {}: {message}", position.line, position.column)]
    Syntax {
        /// Where.
        position: TextPosition,
        /// What is wrong.
        message: String,
    },
    /// No declared intent has this id.
    #[error("unknown intent `{id}`")]
    UnknownIntent {
        /// The id.
        id: String,
    },
    /// Another declared intent has this id.
    #[error("intent `{id}` already exists")]
    IdTaken {
        /// The id.
        id: String,
    },
    /// A list of an intent does not contain the item to remove.
    #[error("`{field}` of {id} does not contain `{item}`")]
    NotInList {
        /// The intent.
        id: String,
        /// The list.
        field: &'static str,
        /// The item.
        item: String,
    },
    /// The YAML of the intent file is written in a form that cannot be edited in place.
    #[error("cannot make this change without rewriting other parts of the file")]
    NotEditable,
    /// The new content of the intent file has errors.
    #[error("the new content has errors")]
    Invalid(Vec<IntentFileProblem>),
    /// The intent file changed between reading and writing it.
    #[error("another process changed the file in the meantime")]
    Changed,
    /// The workspace is not in a git repository, or git is not installed.
    #[error("{} is not in a git repository", root.display())]
    NoRepository {
        /// The workspace.
        root: PathBuf,
    },
    /// Git does not know this branch or commit.
    #[error("unknown branch or commit `{name}`")]
    UnknownCommit {
        /// The name as it was given.
        name: String,
        /// What git said.
        #[source]
        source: Box<IntentsError>,
    },
    /// Git failed.
    #[error("git {action}: {detail}")]
    Git {
        /// What git was asked for.
        action: &'static str,
        /// What git said, or how it ended.
        detail: String,
    },
    /// The output of an export could not be written.
    #[error("cannot write the export: {0}")]
    Output(#[source] io::Error),
}

impl IntentsError {
    pub(crate) fn io(action: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Io { action, path: path.to_path_buf(), source }
    }
}
