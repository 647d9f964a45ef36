//! Puts the queue together from what the host offers: storage if it is there, memory if not.

use crate::approval_service::{ApprovalPorts, ApprovalService};
use crate::contract::{
    APPROVALS, Approvals, HISTORY, HistoryReading, OUTBOX, Outbox, PERSONAS, PersonaChecking, SESSIONS, Sessions,
};
use crate::outbox_service::OutboxService;
use crate::persona_checks::PersonaChecks;
use crate::queue_store::tables::MIGRATIONS;
use crate::queue_store::{OUTBOX_TOPIC, QUESTION_TOPIC, QUEUE_TOPIC, QueueStore};
use crate::redaction::redactor;
use crate::session_feed::SessionFeed;
use crate::session_service::SessionService;
use crate::turn_runner::TurnRunner;
use crate::turn_scheduler::{SchedulerPorts, TurnScheduler};
use dispatch_contracts::BoxFuture;
use dispatch_contracts::extension::{Extension, ExtensionError};
use dispatch_contracts::harness::Harness;
use dispatch_contracts::host::{Host, STORAGE};
use dispatch_contracts::ports::Level;
use dispatch_contracts::storage::StorageBackend;
use dispatch_durable_queue::StorageClock;
use dispatch_kernel::host::HOST;
use dispatch_os::files::is_dir;
use dispatch_os::owner::Owner;
use dispatch_os::process::is_below_own_process;
use ext_conversation_store::contract::{CONVERSATIONS, NAMESPACE, open as open_conversations};
use ext_storage_sqlite::contract::{Location, SqliteBackend};
use serde_json::Map;
use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};

const OWN_NAMESPACE: &str = "session-orchestrator";

/// The session orchestrator.
#[must_use]
pub fn extension() -> Arc<dyn Extension> {
    Arc::new(SessionOrchestrator::default())
}

#[derive(Default)]
struct SessionOrchestrator {
    scheduler: Mutex<Option<Arc<TurnScheduler>>>,
}

impl Extension for SessionOrchestrator {
    fn manifest(&self) -> Cow<'_, str> {
        Cow::Borrowed(include_str!("../manifest.json"))
    }

    fn harness(&self) -> Harness {
        dispatch_contracts::harness!()
    }

    fn activate(&self, host: Host) -> BoxFuture<'_, Result<(), ExtensionError>> {
        Box::pin(async move {
            let scheduler = start(&host).await?;
            *self.scheduler.lock().unwrap_or_else(PoisonError::into_inner) = Some(scheduler);
            Ok(())
        })
    }

    fn deactivate(&self) -> BoxFuture<'_, Result<(), ExtensionError>> {
        let scheduler = self.scheduler.lock().unwrap_or_else(PoisonError::into_inner).take();
        Box::pin(async move {
            if let Some(scheduler) = scheduler {
                scheduler.drain().await;
            }
            Ok(())
        })
    }
}

async fn start(host: &Host) -> Result<Arc<TurnScheduler>, ExtensionError> {
    let settings = host.all_settings().map_err(ExtensionError::new)?;
    let kernel = host.service(&HOST).map_err(ExtensionError::new)?;
    let redactor = Arc::new(redactor(&settings).map_err(ExtensionError::new)?);
    let backend = host.service(&STORAGE).ok();
    let store = Arc::new(store(host, backend.clone()).await?);
    let feed = Arc::new(SessionFeed::default());
    let owner = Owner::register(&host.folders().state.join("owners"), host.ids().next_id());
    let owner = Arc::new(owner.map_err(ExtensionError::new)?);
    let ports = ports(host, Arc::clone(&owner), backend.clone());
    let asking = ApprovalPorts {
        clock: Arc::clone(&ports.clock),
        is_below_agent: is_below_own_process(),
        ids: host.ids(),
        spawn: Arc::clone(&ports.spawn),
    };
    let approvals = Arc::new(ApprovalService::new(Arc::clone(&store), Arc::clone(&feed), asking));
    let agent =
        TurnRunner::new(host.clone(), Arc::clone(&kernel), Arc::clone(&approvals), Arc::clone(&redactor), settings);
    let reading: Arc<dyn HistoryReading> = Arc::clone(&agent.history) as _;
    host.provide(&HISTORY, reading).map_err(ExtensionError::new)?;
    let scheduler = TurnScheduler::new(store, feed, owner.name().to_owned(), ports, Arc::new(agent));
    let personas = Arc::<PersonaChecks>::default();
    let checking: Arc<dyn PersonaChecking> = Arc::clone(&personas) as _;
    host.provide(&PERSONAS, checking).map_err(ExtensionError::new)?;
    let service: Arc<dyn Sessions> = Arc::new(SessionService {
        scheduler: Arc::clone(&scheduler),
        host: host.clone(),
        kernel: Arc::clone(&kernel),
        redactor,
        personas,
    });
    host.provide(&SESSIONS, service).map_err(ExtensionError::new)?;
    let approvals: Arc<dyn Approvals> = approvals;
    host.provide(&APPROVALS, approvals).map_err(ExtensionError::new)?;
    let outbox = Arc::new(OutboxService {
        store: Arc::clone(&scheduler.store),
        scheduler: Arc::clone(&scheduler),
        sender: Mutex::default(),
        signal: Arc::clone(&scheduler.outbox),
        under_way: Mutex::default(),
        some_wait: std::sync::atomic::AtomicBool::new(true),
    });
    let replies: Arc<dyn Outbox> = Arc::clone(&outbox) as _;
    host.provide(&OUTBOX, replies).map_err(ExtensionError::new)?;
    // A command that only looks at the queue must not take up what another process left in it.
    if host.settings().read("conduct") == Some(false) {
        return Ok(scheduler);
    }
    if let Some(backend) = backend {
        let woken = Arc::downgrade(&scheduler);
        backend.listen(Box::new(move |topic| match (topic, woken.upgrade()) {
            (QUEUE_TOPIC, Some(scheduler)) => scheduler.wake(),
            (QUESTION_TOPIC, Some(scheduler)) => scheduler.feed.questions.wake(),
            (OUTBOX_TOPIC, Some(scheduler)) => scheduler.outbox.wake(),
            _ => {}
        }));
    }
    let working = Arc::clone(&scheduler);
    let work = async move {
        // A turn that began earlier would be without the tools of extensions that start behind this one.
        kernel.started().await;
        working.run().await;
        Ok(())
    };
    host.spawn("turn scheduler", work).map_err(ExtensionError::new)?;
    let sending = async move {
        outbox.run().await;
        Ok(())
    };
    host.spawn("outbox", sending).map_err(ExtensionError::new)?;
    Ok(scheduler)
}

/// Storage and the ledger if both are there; without them both are in memory and end with the program.
async fn store(host: &Host, backend: Option<Arc<dyn StorageBackend>>) -> Result<QueueStore, ExtensionError> {
    if let (Some(backend), Ok(conversations)) = (backend, host.service(&CONVERSATIONS)) {
        host.define_migrations(MIGRATIONS.to_vec()).await?;
        let storage = backend.open_joined(OWN_NAMESPACE, &[NAMESPACE]);
        return Ok(QueueStore::new(storage, conversations).announcing(backend));
    }
    host.log(Level::Info, "no storage: sessions end with the program", Map::new());
    let backend = SqliteBackend::open(&Location::Memory).map_err(ExtensionError::new)?;
    let ledger = open_conversations(backend.open(NAMESPACE), host.clock(), host.ids());
    let conversations = ledger.await.map_err(ExtensionError::new)?;
    let storage = backend.open_joined(OWN_NAMESPACE, &[NAMESPACE]);
    storage.migrate(MIGRATIONS.to_vec()).await.map_err(ExtensionError::new)?;
    Ok(QueueStore::new(storage, conversations))
}

fn ports(host: &Host, owner: Arc<Owner>, backend: Option<Arc<dyn StorageBackend>>) -> SchedulerPorts {
    let (spawning, warning) = (host.clone(), host.clone());
    SchedulerPorts {
        clock: match backend {
            Some(storage) => Arc::new(StorageClock { machine: host.clock(), storage }),
            None => host.clock(),
        },
        ids: host.ids(),
        spawn: Arc::new(move |work| {
            let work = async move {
                work.await;
                Ok(())
            };
            // A host that is gone runs nothing any more; the lease is settled by the next process.
            let _ = spawning.spawn("session", work);
        }),
        warn: Arc::new(move |message| warning.log(Level::Warn, &message, Map::new())),
        liveness: owner,
        folder_exists: Arc::new(|folder| is_dir(folder)),
    }
}
