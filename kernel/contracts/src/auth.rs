//! Where a provider's credentials come from.

use crate::BoxFuture;
use crate::secret::{Secret, SecretError};
use serde::{Deserialize, Serialize};

/// What a credential is for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct AuthScope {
    /// The provider that will send it.
    pub provider: String,
    /// The address it will be sent to; a credential is never sent anywhere else.
    pub audience: String,
}

/// A credential in the form the wire wants it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Credential {
    /// `Authorization: Bearer ...`.
    Bearer(Secret),
    /// A header of the provider's own.
    Header {
        /// The header's name.
        name: String,
        /// The header's value.
        value: Secret,
    },
    /// The server wants none (a local model).
    None,
}

/// A source of credentials: keys, a keyring, an OAuth flow.
pub trait Auth: Send + Sync {
    /// The credential for a scope; refreshed when it has expired.
    fn credential<'a>(&'a self, scope: &'a AuthScope) -> BoxFuture<'a, Result<Credential, SecretError>>;
}
