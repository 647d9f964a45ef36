//! Why a key could not be found, kept or removed, in words that never hold it.

use dispatch_contracts::secret::SecretError;
use dispatch_os::OsError;
use std::path::PathBuf;

/// A failure with keys.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The text names no server.
    #[error("`{text}` is no address of a server")]
    NoAudience {
        /// The text, without what could be a password in it.
        text: String,
    },
    /// The key is empty, too long, or holds what no key holds.
    #[error("that is no key: {why}")]
    NoKey {
        /// What is wrong with it.
        why: &'static str,
    },
    /// The file of keys does not hold what it should. It is left as it is.
    #[error("{} is damaged: {why}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where and what, without content.
        why: String,
    },
    /// The file of keys was written by a later version.
    #[error("{} was written by a later version ({version})", path.display())]
    TooNew {
        /// The file.
        path: PathBuf,
        /// Its version.
        version: u32,
    },
    /// The operating system's keyring did not do what was asked.
    #[error("the keyring failed: {why}")]
    Keyring {
        /// What it said, without the key.
        why: String,
    },
    /// The operating system refused.
    #[error(transparent)]
    Os(#[from] OsError),
}

impl KeyError {
    /// What the user can do about it, where there is something.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NoAudience { .. } => Some("it looks like https://api.openai.com or http://127.0.0.1:11434"),
            Self::NoKey { .. } => Some("a key is one line of visible letters, read from standard input or the prompt"),
            Self::Damaged { .. } => Some("repair it, or move it away and add the keys again; it is never overwritten"),
            Self::TooNew { .. } => Some("update Dispatch, or move the file away and add the keys again"),
            Self::Keyring { .. } => Some("`dispatch auth add --store file` keeps the key in a file instead"),
            Self::Os(error) => error.hint(),
        }
    }
}

impl From<KeyError> for SecretError {
    fn from(error: KeyError) -> Self {
        let cause = match error.hint() {
            Some(hint) => format!("{error}; {hint}"),
            None => error.to_string(),
        };
        Self::Store { cause }
    }
}
