//! The ledger as an extension: brings its tables up to date and serves the conversations.

use crate::contract::{CONVERSATIONS, Conversations};
use crate::schema::{FirstIndex, migrations};
use crate::store::Ledger;
use dispatch_contracts::BoxFuture;
use dispatch_contracts::extension::{Extension, ExtensionError};
use dispatch_contracts::harness::Harness;
use dispatch_contracts::host::{Host, HostError};
use dispatch_contracts::ports::{Clock, Ids};
use dispatch_contracts::storage::{Storage, StorageError};
use std::borrow::Cow;
use std::sync::Arc;

/// The extension.
#[must_use]
pub fn extension() -> Arc<dyn Extension> {
    Arc::new(ConversationStore)
}

/// The conversations in a store of their own namespace, without a host: for whoever keeps them in a database of its own.
///
/// # Errors
/// When the tables cannot be brought up to date.
pub async fn open(
    storage: Arc<dyn Storage>,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn Ids>,
) -> Result<Arc<dyn Conversations>, StorageError> {
    let first = FirstIndex::of(storage.as_ref()).await;
    storage.migrate(migrations(first)).await?;
    Ok(Arc::new(Ledger { storage, clock, ids }))
}

struct ConversationStore;

impl Extension for ConversationStore {
    fn manifest(&self) -> Cow<'_, str> {
        Cow::Borrowed(include_str!("../manifest.json"))
    }

    fn harness(&self) -> Harness {
        dispatch_contracts::harness!()
    }

    fn activate(&self, host: Host) -> BoxFuture<'_, Result<(), ExtensionError>> {
        Box::pin(async move {
            let storage = match host.storage() {
                Ok(storage) => storage,
                // Without storage there is nothing to serve: the queue then opens a store in memory.
                Err(HostError::NoService { .. }) => return Ok(()),
                Err(error) => return Err(ExtensionError::new(error)),
            };
            let first = FirstIndex::of(storage.as_ref()).await;
            host.define_migrations(migrations(first)).await?;
            let ledger: Arc<dyn Conversations> = Arc::new(Ledger { storage, clock: host.clock(), ids: host.ids() });
            host.provide(&CONVERSATIONS, ledger).map(drop).map_err(ExtensionError::new)
        })
    }
}
