//! The backend as an extension: opens the database that the settings name and serves everybody's storage from it.

use crate::contract::DatabaseAddress;
use crate::store::PostgresBackend;
use dispatch_contracts::BoxFuture;
use dispatch_contracts::extension::{Extension, ExtensionError};
use dispatch_contracts::harness::Harness;
use dispatch_contracts::host::{Host, STORAGE};
use dispatch_os::threads::offload;
use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};

/// The extension. It does nothing unless `storage.url` names a PostgreSQL database.
#[must_use]
pub fn extension() -> Arc<dyn Extension> {
    Arc::new(PostgresStorage::default())
}

#[derive(Default)]
struct PostgresStorage {
    backend: Mutex<Option<Arc<PostgresBackend>>>,
}

impl PostgresStorage {
    async fn start(&self, host: Host) -> Result<(), ExtensionError> {
        let url: Option<String> = host.all_settings().map_err(ExtensionError::new)?.read("storage.url");
        let Some(url) = url.filter(|url| DatabaseAddress::is_meant(url)) else { return Ok(()) };
        let address = DatabaseAddress::parse(&url).map_err(ExtensionError::new)?;
        let opening =
            offload("storage-opening", move || PostgresBackend::open(&address)).map_err(ExtensionError::new)?;
        let backend = Arc::new(opening.await.map_err(ExtensionError::new)?);
        *self.backend.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&backend));
        host.provide(&STORAGE, backend).map(drop).map_err(ExtensionError::new)
    }
}

impl Extension for PostgresStorage {
    fn manifest(&self) -> Cow<'_, str> {
        Cow::Borrowed(include_str!("../manifest.json"))
    }

    fn harness(&self) -> Harness {
        dispatch_contracts::harness!()
    }

    fn activate(&self, host: Host) -> BoxFuture<'_, Result<(), ExtensionError>> {
        Box::pin(self.start(host))
    }

    fn deactivate(&self) -> BoxFuture<'_, Result<(), ExtensionError>> {
        let backend = self.backend.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(backend) = backend {
            backend.close();
        }
        Box::pin(std::future::ready(Ok(())))
    }
}
