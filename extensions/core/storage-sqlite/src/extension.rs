//! The backend as an extension: opens what the settings name and serves everybody's storage from it.

use crate::contract::Location;
use crate::store::SqliteBackend;
use dispatch_contracts::BoxFuture;
use dispatch_contracts::extension::{Extension, ExtensionError};
use dispatch_contracts::harness::Harness;
use dispatch_contracts::host::{Host, STORAGE};
use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};

/// The extension.
#[must_use]
pub fn extension() -> Arc<dyn Extension> {
    Arc::new(SqliteStorage::default())
}

#[derive(Default)]
struct SqliteStorage {
    backend: Mutex<Option<Arc<SqliteBackend>>>,
}

impl SqliteStorage {
    fn start(&self, host: &Host) -> Result<(), ExtensionError> {
        let url: Option<String> = host.all_settings().map_err(ExtensionError::new)?.read("storage.url");
        let location = Location::parse(url.as_deref(), &host.folders().data).map_err(ExtensionError::new)?;
        let backend = Arc::new(SqliteBackend::open(&location).map_err(ExtensionError::new)?);
        *self.backend.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&backend));
        host.provide(&STORAGE, backend).map(drop).map_err(ExtensionError::new)
    }
}

impl Extension for SqliteStorage {
    fn manifest(&self) -> Cow<'_, str> {
        Cow::Borrowed(include_str!("../manifest.json"))
    }

    fn harness(&self) -> Harness {
        dispatch_contracts::harness!()
    }

    fn activate(&self, host: Host) -> BoxFuture<'_, Result<(), ExtensionError>> {
        Box::pin(std::future::ready(self.start(&host)))
    }

    fn deactivate(&self) -> BoxFuture<'_, Result<(), ExtensionError>> {
        let backend = self.backend.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(backend) = backend {
            backend.close();
        }
        Box::pin(std::future::ready(Ok(())))
    }
}
