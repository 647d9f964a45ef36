//! Puts the ledger together from what the host offers: storage if it is there, memory if not.

use crate::account_rows::AccountRows;
use crate::account_supervisor::AccountSupervisor;
use crate::append_queue::append_queue;
use crate::channel_counts::RefusedRequests;
use crate::channel_registry::ChannelRegistry;
use crate::contract::{CHANNELS, Channels, EVENT_LEDGER, EventLedger};
use crate::event_routes::event_routes;
use crate::kept_replies::{KeptReplies, KeptReplyAdapter};
use crate::ledger_service::LedgerService;
use crate::peer_signals::PeerSignals;
use crate::tables::MIGRATIONS;
use crate::web::{self, WebChannel, web_routes};
use crate::webhook::{self, WebhookAdapter, configured_webhooks, literal_secrets, webhook_route};
use dispatch_contracts::BoxFuture;
use dispatch_contracts::cancel::CancelToken;
use dispatch_contracts::extension::{Extension, ExtensionError};
use dispatch_contracts::harness::Harness;
use dispatch_contracts::host::{Host, HostError};
use dispatch_contracts::ports::Level;
use dispatch_contracts::secret::Secret;
use dispatch_contracts::storage::{Storage, StorageBackend};
use dispatch_durable_queue::WakeSignal;
use dispatch_os::files::canonicalize;
use dispatch_os::owner::Owner;
use dispatch_os::{OsError, environment, process};
use dispatch_redact::{Allowed, Options, RedactError, Redactor, UserPattern};
use ext_storage_sqlite::contract::{Location, SqliteBackend};
use serde_json::Map;
use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};

/// The namespace of the tables.
const NAMESPACE: &str = "event-ledger";

/// The folder of the owners' lock files, below the folder for state.
const OWNERS: &str = "account-owners";

/// The channel of `dispatch event post`.
const CLI_CHANNEL: &str = "cli";
/// A shorter secret is not looked for in texts: it would be found in words.
const MIN_SECRET_BYTES: usize = 8;

/// The event ledger.
#[must_use]
pub fn extension() -> Arc<dyn Extension> {
    Arc::new(EventLedgerExtension::default())
}

#[derive(Default)]
struct EventLedgerExtension {
    supervisor: Mutex<Option<Arc<AccountSupervisor>>>,
}

impl Extension for EventLedgerExtension {
    fn manifest(&self) -> Cow<'_, str> {
        Cow::Borrowed(include_str!("../manifest.json"))
    }

    fn harness(&self) -> Harness {
        dispatch_contracts::harness!()
    }

    fn activate(&self, host: Host) -> BoxFuture<'_, Result<(), ExtensionError>> {
        Box::pin(async move {
            let storage = storage(&host).await?;
            let supervisor = start(&host, storage).map_err(ExtensionError::new)?;
            *self.supervisor.lock().unwrap_or_else(PoisonError::into_inner) = supervisor;
            Ok(())
        })
    }

    fn deactivate(&self) -> BoxFuture<'_, Result<(), ExtensionError>> {
        let supervisor = self.supervisor.lock().unwrap_or_else(PoisonError::into_inner).take();
        Box::pin(async move {
            if let Some(supervisor) = supervisor {
                supervisor.stop().await;
            }
            Ok(())
        })
    }
}

/// Gives the supervisor of read accounts, where this process reads them.
fn start(host: &Host, storage: Arc<dyn Storage>) -> Result<Option<Arc<AccountSupervisor>>, StartError> {
    let webhooks = configured_webhooks(&host.settings());
    let redactor = Arc::new(redactor(host, &literal_secrets(&webhooks))?);
    let replies = Arc::new(KeptReplies {
        storage: Arc::clone(&storage),
        redactor: Arc::clone(&redactor),
        clock: host.clock(),
        kept: PeerSignals::default(),
    });
    let refused = Arc::new(RefusedRequests {
        storage: Arc::clone(&storage),
        host: host.clone(),
        channel: webhook::CHANNEL,
        waiting: Mutex::default(),
    });
    let rows = Arc::new(account_rows(host, Arc::clone(&storage))?);
    let stored = ledger(host, storage, redactor, Arc::clone(&replies))?;
    let ledger: Arc<dyn EventLedger> = Arc::clone(&stored) as _;
    let channels = Arc::new(ChannelRegistry::new(Arc::clone(&rows)));
    let adapter = Arc::new(WebhookAdapter { host: host.clone(), webhooks });
    let web = Arc::new(WebChannel { ledger: Arc::clone(&ledger), replies: Arc::clone(&replies) });
    for route in event_routes(&ledger).into_iter().chain(web_routes(&web)) {
        host.define_route(route)?;
    }
    host.define_raw_route(webhook_route(Arc::clone(&adapter), Arc::clone(&ledger), refused))?;
    channels.register(adapter);
    for channel in [web::CHANNEL, CLI_CHANNEL] {
        channels.register(Arc::new(KeptReplyAdapter { channel, replies: Arc::clone(&replies) }));
    }
    host.provide(&EVENT_LEDGER, ledger)?;
    host.provide(&CHANNELS, Arc::clone(&channels) as Arc<dyn Channels>)?;
    if host.settings().read("read_accounts") != Some(true) {
        return Ok(None);
    }
    let supervisor = Arc::new(supervisor(host, rows, channels, stored));
    let running = Arc::clone(&supervisor);
    let work = async move {
        running.run().await;
        Ok(())
    };
    host.spawn("accounts", work)?;
    Ok(Some(supervisor))
}

fn account_rows(host: &Host, storage: Arc<dyn Storage>) -> Result<AccountRows, StartError> {
    let owner = Arc::new(Owner::register(&host.folders().state.join(OWNERS), host.ids().next_id())?);
    Ok(AccountRows {
        storage,
        clock: host.clock(),
        owner: owner.name().to_owned(),
        node: format!("{}:{}", environment::machine_name(), process::id()),
        liveness: owner,
    })
}

fn supervisor(
    host: &Host,
    rows: Arc<AccountRows>,
    channels: Arc<ChannelRegistry>,
    ledger: Arc<LedgerService>,
) -> AccountSupervisor {
    let (spawning, warning) = (host.clone(), host.clone());
    AccountSupervisor {
        rows,
        channels,
        ledger,
        clock: host.clock(),
        spawn: Arc::new(move |work| {
            let work = async move {
                work.await;
                Ok(())
            };
            // A host that is gone reads nothing any more; the next process takes the account.
            let _ = spawning.spawn("account", work);
        }),
        warn: Arc::new(move |message| warning.log(Level::Warn, &message, Map::new())),
        stopping: CancelToken::new(),
        held: Mutex::default(),
    }
}

/// Why the ledger does not start.
#[derive(Debug, thiserror::Error)]
enum StartError {
    #[error(transparent)]
    Host(#[from] HostError),
    #[error(transparent)]
    Redaction(#[from] RedactError),
    #[error(transparent)]
    Owner(#[from] OsError),
}

fn ledger(
    host: &Host,
    storage: Arc<dyn Storage>,
    redactor: Arc<Redactor>,
    replies: Arc<KeptReplies>,
) -> Result<Arc<LedgerService>, HostError> {
    let (queue, writer) = append_queue(Arc::clone(&storage));
    let appended = Arc::new(WakeSignal::default());
    let signal = Arc::clone(&appended);
    let writing = async move {
        writer.run(move || signal.wake()).await;
        Ok(())
    };
    host.spawn("event ledger", writing)?;
    Ok(Arc::new(LedgerService {
        storage,
        queue,
        redactor,
        clock: host.clock(),
        ids: host.ids(),
        appended,
        replies,
        workspace: workspace(host),
        receipts: Mutex::default(),
    }))
}

/// The folder that this process works in, without links in its path.
fn workspace(host: &Host) -> String {
    let folder = host.folders().workdir;
    canonicalize(&folder).unwrap_or(folder).to_string_lossy().into_owned()
}

/// Storage if it is there; without it events are in memory and end with the program.
async fn storage(host: &Host) -> Result<Arc<dyn Storage>, ExtensionError> {
    if let Ok(storage) = host.storage() {
        host.define_migrations(MIGRATIONS.to_vec()).await?;
        return Ok(storage);
    }
    host.log(Level::Info, "no storage: events are lost when the program ends", Map::new());
    let backend = SqliteBackend::open(&Location::Memory).map_err(ExtensionError::new)?;
    let storage = StorageBackend::open(&backend, NAMESPACE);
    storage.migrate(MIGRATIONS.to_vec()).await.map_err(ExtensionError::new)?;
    Ok(storage)
}

/// The redactor of the settings, which also knows the secrets of webhooks.
fn redactor(host: &Host, secrets: &[Secret]) -> Result<Redactor, RedactError> {
    let settings = host.settings();
    let mut patterns: Vec<UserPattern> = settings.read("redact.patterns").unwrap_or_default();
    let long = secrets.iter().map(Secret::expose).filter(|secret| secret.len() >= MIN_SECRET_BYTES);
    patterns.extend(long.map(|secret| UserPattern::new("webhook", regex::escape(secret))));
    let allowed: Vec<String> = settings.read("redact.allow").unwrap_or_default();
    let allowed = allowed.into_iter().map(Allowed::Exact).collect();
    Redactor::new(Options { patterns, allowed, ..Options::default() })
}
