//! Why something about intents could not be done.

use std::io;
use std::path::{Path, PathBuf};

use dispatch_os::OsError;

/// What stood in the way.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IntentsError {
    /// A system call on a file failed.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was tried, as a verb.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// An effect of the platform failed.
    #[error(transparent)]
    Os(#[from] OsError),
    /// Somebody else kept the ledger to himself for too long.
    #[error("the ledger is in use by another process")]
    Busy,
    /// What should be a file of its own is a link or something else.
    #[error("{} is not a regular file", path.display())]
    NotAFile {
        /// The path.
        path: PathBuf,
    },
    /// An entry cannot be written as JSON.
    #[error("an entry cannot be written: {0}")]
    Entry(#[from] serde_json::Error),
    /// The declared intents cannot be read.
    #[error("{detail}")]
    IntentFile {
        /// Where and why.
        detail: String,
    },
    /// Git could not answer.
    #[error("git {action}: {detail}")]
    Git {
        /// What was asked.
        action: &'static str,
        /// Why there is no answer.
        detail: String,
    },
}

impl IntentsError {
    pub(crate) fn io(action: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Io { action, path: path.to_path_buf(), source }
    }
}
