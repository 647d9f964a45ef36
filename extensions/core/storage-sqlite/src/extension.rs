//! The backend as an extension: opens what the settings name and serves everybody's storage from it.

use crate::contract::{Location, is_for_a_server};
use crate::resolved_location::beside;
use crate::store::SqliteBackend;
use dispatch_contracts::BoxFuture;
use dispatch_contracts::extension::{Extension, ExtensionError};
use dispatch_contracts::harness::Harness;
use dispatch_contracts::host::{Host, STORAGE};
use dispatch_contracts::ports::Level;
use dispatch_os::files;
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
        if url.as_deref().is_some_and(is_for_a_server) {
            return Ok(());
        }
        let location = Location::parse(url.as_deref(), &host.folders().data).map_err(ExtensionError::new)?;
        close_to_others(host, &location);
        let backend = Arc::new(SqliteBackend::open(&location).map_err(ExtensionError::new)?);
        *self.backend.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&backend));
        host.provide(&STORAGE, backend).map(drop).map_err(ExtensionError::new)
    }
}

/// Takes the database away from other users who could read or change it, and says so. What cannot be changed is
/// told too and keeps nobody from working.
fn close_to_others(host: &Host, location: &Location) {
    let Location::File(path) = location else { return };
    for file in ["", "-wal", "-shm"].map(|suffix| beside(path, suffix)) {
        let told = match files::close_to_others(&file) {
            Ok(None) => continue,
            Ok(Some(mode)) => format!(
                "{} was open to other users of this machine (mode {mode:o}); its mode is now 600",
                file.display()
            ),
            Err(error) => format!("other users of this machine may be able to open the database: {error}"),
        };
        host.log(Level::Warn, &told, Default::default());
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
