//! Secrets as values that cannot be printed or serialised by accident.

use crate::BoxFuture;
use std::fmt;

/// A secret text. `Debug` and `Display` never show it; there is no `Serialize`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a text as a secret.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The secret itself, at the one place that sends it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("[secret]")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("[secret]")
    }
}

/// Why a secret could not be read or kept. Never names the secret's content.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SecretError {
    /// No secret has this name.
    #[error("no secret named `{name}`")]
    Missing {
        /// The name that was asked for.
        name: String,
    },
    /// The store did not answer.
    #[error("the secret store failed: {cause}")]
    Store {
        /// What the store said, without the secret.
        cause: String,
    },
}

/// The vault: named secrets, kept apart per extension by the host.
pub trait Secrets: Send + Sync {
    /// Reads a secret.
    fn get<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Secret, SecretError>>;
    /// Keeps a secret, replacing an older one.
    fn put<'a>(&'a self, name: &'a str, secret: Secret) -> BoxFuture<'a, Result<(), SecretError>>;
    /// Forgets a secret; forgetting one that does not exist is not an error.
    fn remove<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<(), SecretError>>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_never_printed() {
        let secret = Secret::new("canary");
        assert!(!format!("{secret:?} {secret}").contains("canary"));
    }
}
