//! Why a key could not be found, stored or removed, in words without the key.

use dispatch_contracts::secret::SecretError;
use dispatch_os::OsError;
use std::path::PathBuf;

/// A failure with keys.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The text is not the address of a server.
    #[error("invalid server address `{text}`")]
    InvalidAddress {
        /// The text, without what could be a password in it.
        text: String,
    },
    /// The key is empty, too long, or holds characters that a key cannot hold.
    #[error("invalid key: {why}")]
    InvalidKey {
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
    /// No thread could be started to work with keys.
    #[error("cannot start a thread to work with keys")]
    Thread(#[source] std::io::Error),
    /// The work with keys panicked.
    #[error("the work with keys was interrupted")]
    Interrupted,
    /// The operating system refused.
    #[error(transparent)]
    Os(#[from] OsError),
}

impl KeyError {
    /// What the user can do about it, where there is something.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::InvalidAddress { .. } => Some("write it like https://api.openai.com or http://127.0.0.1:11434"),
            Self::InvalidKey { .. } => {
                Some("a key is one line of visible letters, read from standard input or the prompt")
            }
            Self::Damaged { .. } => {
                Some("repair it, or move it away and add the keys again; a damaged file is not overwritten")
            }
            Self::TooNew { .. } => Some("update Dispatch, or move the file away and add the keys again"),
            Self::Keyring { .. } => Some("`dispatch auth add --store file` stores the key in a file instead"),
            Self::Thread(_) | Self::Interrupted => None,
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
