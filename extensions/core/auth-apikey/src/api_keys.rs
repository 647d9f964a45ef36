//! The credential source `apikey`: the environment first, then what was added.

use crate::audience::Audience;
use crate::key_store::KeyStore;
use crate::off_thread::off_thread;
use crate::variables::{self, ReadVariable};
use dispatch_contracts::BoxFuture;
use dispatch_contracts::auth::{Auth, AuthScope, Credential};
use dispatch_contracts::secret::SecretError;

/// The source.
pub(crate) struct ApiKeys {
    pub(crate) store: KeyStore,
    /// The server that `DISPATCH_API_KEY` is for.
    pub(crate) configured: Option<Audience>,
    pub(crate) read_variable: ReadVariable,
}

impl Auth for ApiKeys {
    fn credential<'a>(&'a self, scope: &'a AuthScope) -> BoxFuture<'a, Result<Credential, SecretError>> {
        Box::pin(self.find(scope))
    }
}

impl ApiKeys {
    async fn find(&self, scope: &AuthScope) -> Result<Credential, SecretError> {
        let missing = || SecretError::Missing { name: scope.audience.clone() };
        let audience = Audience::parse(&scope.audience).map_err(|_| missing())?;
        let found = variables::keys(self.read_variable, self.configured.as_ref())?;
        if let Some(own) = found.into_iter().find(|found| found.audience == audience) {
            return Ok(Credential::Bearer(own.key));
        }
        let (store, wanted) = (self.store.clone(), audience.clone());
        match off_thread(move || store.find(&wanted)).await? {
            Some((key, None)) => Ok(Credential::Bearer(key)),
            Some((value, Some(name))) => Ok(Credential::Header { name, value }),
            None if audience.is_loopback() => Ok(Credential::None),
            None => Err(missing()),
        }
    }
}
