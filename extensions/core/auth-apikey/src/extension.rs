//! Registers the credential source and the vault.

use crate::api_keys::ApiKeys;
use crate::audience::Audience;
use crate::contract::APIKEY;
use crate::key_file::KeyFile;
use crate::key_store::KeyStore;
use crate::variables::ENVIRONMENT;
use crate::vault::SecretVaults;
use dispatch_contracts::BoxFuture;
use dispatch_contracts::extension::{Extension, ExtensionError};
use dispatch_contracts::harness::Harness;
use dispatch_contracts::host::{Host, HostError, SECRETS};
use std::borrow::Cow;
use std::sync::Arc;

/// The extension.
#[must_use]
pub fn extension() -> Arc<dyn Extension> {
    Arc::new(ApiKeyExtension)
}

struct ApiKeyExtension;

impl Extension for ApiKeyExtension {
    fn manifest(&self) -> Cow<'_, str> {
        Cow::Borrowed(include_str!("../manifest.json"))
    }

    fn harness(&self) -> Harness {
        dispatch_contracts::harness!()
    }

    fn activate(&self, host: Host) -> BoxFuture<'_, Result<(), ExtensionError>> {
        Box::pin(std::future::ready(register(&host).map_err(ExtensionError::new)))
    }
}

fn register(host: &Host) -> Result<(), HostError> {
    let data = host.folders().data;
    let named: Option<String> = host.settings().read("own_key_for");
    let base_url: Option<String> = host.all_settings()?.read("model.base_url");
    let keys = ApiKeys {
        store: KeyStore::open(&data),
        // The provider reports an invalid address; no key is sent there.
        configured: named.or(base_url).and_then(|address| Audience::parse(&address).ok()),
        read_variable: ENVIRONMENT,
    };
    host.define_auth(APIKEY, Arc::new(keys))?;
    host.provide(&SECRETS, Arc::new(SecretVaults { file: KeyFile::in_folder(&data) }))?;
    Ok(())
}
