//! Puts the mail channel together: registers its adapter if the settings name an account.

use crate::account_settings::configured_accounts;
use crate::adapter::MailAdapter;
use crate::send_journal::{MIGRATIONS, SendJournal};
use dispatch_contracts::BoxFuture;
use dispatch_contracts::extension::{Extension, ExtensionError};
use dispatch_contracts::harness::Harness;
use dispatch_contracts::host::Host;
use dispatch_contracts::storage::{Storage, StorageBackend};
use ext_event_ledger::contract::{CHANNELS, EVENT_LEDGER};
use ext_storage_sqlite::contract::{Location, SqliteBackend};
use std::borrow::Cow;
use std::sync::{Arc, Mutex};

/// The namespace of the table, for storage in memory.
const NAMESPACE: &str = "channel-mail";

/// The mail channel.
#[must_use]
pub fn extension() -> Arc<dyn Extension> {
    Arc::new(ChannelMailExtension)
}

struct ChannelMailExtension;

impl Extension for ChannelMailExtension {
    fn manifest(&self) -> Cow<'_, str> {
        Cow::Borrowed(include_str!("../manifest.json"))
    }

    fn harness(&self) -> Harness {
        dispatch_contracts::harness!()
    }

    fn activate(&self, host: Host) -> BoxFuture<'_, Result<(), ExtensionError>> {
        Box::pin(start(host))
    }
}

async fn start(host: Host) -> Result<(), ExtensionError> {
    let storage = storage(&host).await?;
    let accounts = configured_accounts(&host.settings());
    // Without an account, events that a command posts as mail are answered to the command.
    if accounts.is_empty() {
        return Ok(());
    }
    let channels = host.service(&CHANNELS).map_err(ExtensionError::new)?;
    let ledger = host.service(&EVENT_LEDGER).map_err(ExtensionError::new)?;
    channels.register(Arc::new(MailAdapter {
        host,
        accounts,
        ledger,
        journal: SendJournal { storage },
        failed: Mutex::default(),
    }));
    Ok(())
}

/// Storage if it is there; without it events are in memory too.
async fn storage(host: &Host) -> Result<Arc<dyn Storage>, ExtensionError> {
    if let Ok(storage) = host.storage() {
        host.define_migrations(MIGRATIONS.to_vec()).await?;
        return Ok(storage);
    }
    let backend = SqliteBackend::open(&Location::Memory).map_err(ExtensionError::new)?;
    let storage = StorageBackend::open(&backend, NAMESPACE);
    storage.migrate(MIGRATIONS.to_vec()).await.map_err(ExtensionError::new)?;
    Ok(storage)
}
