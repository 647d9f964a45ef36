//! The vault: secrets of extensions, each namespace for itself, in the owner-only file.

use crate::error::KeyError;
use crate::key_file::{HiddenSecret, KeyFile};
use crate::off_thread::off_thread;
use dispatch_contracts::BoxFuture;
use dispatch_contracts::host::SecretsBackend;
use dispatch_contracts::secret::{Secret, SecretError, Secrets};
use std::sync::Arc;

/// The longest secret.
const MAX_SECRET_BYTES: usize = 256 * 1024;
/// The longest name of a secret.
const MAX_NAME_BYTES: usize = 200;

/// Opens vaults.
pub(crate) struct SecretVaults {
    pub(crate) file: KeyFile,
}

impl SecretsBackend for SecretVaults {
    fn open(&self, namespace: &str) -> Arc<dyn Secrets> {
        Arc::new(SecretVault { file: self.file.clone(), namespace: namespace.to_owned() })
    }
}

struct SecretVault {
    file: KeyFile,
    namespace: String,
}

impl Secrets for SecretVault {
    fn get<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Secret, SecretError>> {
        Box::pin(async move {
            let (file, namespace, wanted) = (self.file.clone(), self.namespace.clone(), name.to_owned());
            let found = off_thread(move || {
                let mut content = file.read()?;
                Ok(content.secrets.get_mut(&namespace).and_then(|own| own.remove(&wanted)))
            });
            let found = found.await?.map(|HiddenSecret(secret)| secret);
            found.ok_or_else(|| SecretError::Missing { name: name.to_owned() })
        })
    }

    fn put<'a>(&'a self, name: &'a str, secret: Secret) -> BoxFuture<'a, Result<(), SecretError>> {
        Box::pin(async move {
            if secret.expose().len() > MAX_SECRET_BYTES || name.len() > MAX_NAME_BYTES {
                return Err(KeyError::InvalidKey { why: "it or its name is too long" }.into());
            }
            let (file, namespace, name) = (self.file.clone(), self.namespace.clone(), name.to_owned());
            let kept = off_thread(move || {
                file.change(|content| {
                    content.secrets.entry(namespace).or_default().insert(name, HiddenSecret(secret));
                    Ok(())
                })
            });
            Ok(kept.await?)
        })
    }

    fn remove<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<(), SecretError>> {
        Box::pin(async move {
            let (file, namespace, name) = (self.file.clone(), self.namespace.clone(), name.to_owned());
            let removed = off_thread(move || {
                file.change(|content| {
                    if let Some(own) = content.secrets.get_mut(&namespace) {
                        own.remove(&name);
                    }
                    content.secrets.retain(|_, own| !own.is_empty());
                    Ok(())
                })
            });
            Ok(removed.await?)
        })
    }
}
