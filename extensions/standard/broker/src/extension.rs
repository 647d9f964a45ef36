//! Puts the broker together from what the host offers, and starts routing unless the process only looks.

use crate::contract::{ROUTES, Routes};
use crate::event_receipts::RoutedReceipts;
use crate::hook_catalogue::HookCatalogue;
use crate::hook_evaluation::{HookRunner, HookRunning};
use crate::hook_workers::HookWorkers;
use crate::journal::Journal;
use crate::metrics_route::metrics_route;
use crate::persona_files::PersonaFiles;
use crate::reply_sending::ChannelReplies;
use crate::route_service::RouteService;
use crate::router::Router;
use crate::sender_standing::SenderKnowledge;
use crate::session_key::DEFAULT_PERSONA;
use crate::tables::MIGRATIONS;
use dispatch_contracts::BoxFuture;
use dispatch_contracts::extension::{Extension, ExtensionError};
use dispatch_contracts::harness::Harness;
use dispatch_contracts::hook::HandlerError;
use dispatch_contracts::host::Host;
use dispatch_contracts::ports::Clock;
use dispatch_contracts::storage::StorageBackend;
use dispatch_os::files::canonicalize;
use dispatch_os::owner::Owner;
use dispatch_os::threads::KeptThreads;
use dispatch_redact::{Allowed, Options, Redactor, UserPattern};
use ext_event_ledger::contract::{CHANNELS, EVENT_LEDGER};
use ext_session_orchestrator::contract::{CONTEXT, OUTBOX, PERSONAS, SESSIONS, Sessions, TurnContext};
use ext_storage_sqlite::contract::{Location, SqliteBackend};
use serde_json::Map;
use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};

/// The namespace of the tables, for storage in memory.
const NAMESPACE: &str = "broker";
/// The folder of the owners' lock files, below the folder for state.
const OWNERS: &str = "route-owners";
/// How long a hook may take for one event, if the settings do not say.
const HOOK_TIMEOUT_MS: u64 = 2_000;
/// Personas shape a turn before others do.
const PERSONA_PRIORITY: i32 = 100;

/// The broker.
#[must_use]
pub fn extension() -> Arc<dyn Extension> {
    Arc::new(BrokerExtension::default())
}

#[derive(Default)]
struct BrokerExtension {
    router: Mutex<Option<Arc<Router>>>,
}

impl Extension for BrokerExtension {
    fn manifest(&self) -> Cow<'_, str> {
        Cow::Borrowed(include_str!("../manifest.json"))
    }

    fn harness(&self) -> Harness {
        dispatch_contracts::harness!()
    }

    fn activate(&self, host: Host) -> BoxFuture<'_, Result<(), ExtensionError>> {
        Box::pin(async move {
            let router = start(&host, hook_runner(&host)?).await?;
            *self.router.lock().unwrap_or_else(PoisonError::into_inner) = Some(router);
            Ok(())
        })
    }

    fn deactivate(&self) -> BoxFuture<'_, Result<(), ExtensionError>> {
        let router = self.router.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(router) = router {
            router.stop();
        }
        Box::pin(std::future::ready(Ok(())))
    }
}

/// Starts routing with hooks that are run like this.
pub(crate) async fn start(host: &Host, hooks: Arc<dyn HookRunning>) -> Result<Arc<Router>, ExtensionError> {
    personas(host)?;
    let journal = Arc::new(journal(host).await?);
    let router = router(host, Arc::clone(&journal), hooks)?;
    let channels = host.service(&CHANNELS).map_err(ExtensionError::new)?;
    let outbox = host.service(&OUTBOX).map_err(ExtensionError::new)?;
    let receipts = RoutedReceipts {
        journal: Arc::clone(&journal),
        sessions: Arc::clone(&router.sessions),
        outbox: Arc::clone(&outbox),
    };
    router.ledger.receipts_from(Arc::new(receipts));
    let service: Arc<dyn Routes> = Arc::new(RouteService { router: Arc::clone(&router), outbox: Arc::clone(&outbox) });
    host.define_route(metrics_route(Arc::clone(&service), host.clock())).map_err(ExtensionError::new)?;
    host.provide(&ROUTES, service).map_err(ExtensionError::new)?;
    if host.settings().read("route_events") == Some(false) {
        return Ok(router);
    }
    outbox.send_with(Arc::new(ChannelReplies { channels, journal }));
    let (routing, handing) = (Arc::clone(&router), Arc::clone(&router));
    let work = async move {
        routing.run().await;
        Ok(())
    };
    host.spawn("event routing", work).map_err(ExtensionError::new)?;
    let work = async move {
        handing.run_hand_over().await;
        Ok(())
    };
    host.spawn("dispatches", work).map_err(ExtensionError::new)?;
    Ok(router)
}

/// Lets sessions have personas.
fn personas(host: &Host) -> Result<(), ExtensionError> {
    let files = Arc::new(PersonaFiles { folders: host.folders() });
    let checking = host.service(&PERSONAS).map_err(ExtensionError::new)?;
    checking.check_with(Arc::clone(&files) as _);
    let shape = move |context: TurnContext| {
        let named = context.persona.clone().filter(|name| !name.is_empty() && name != DEFAULT_PERSONA);
        let shaped = match named {
            None => context,
            // A persona can bound a turn: without it the turn must not run.
            Some(name) => match files.find(&name) {
                Ok(persona) => persona.shape(context),
                Err(why) => TurnContext { obstacle: Some(why), ..context },
            },
        };
        std::future::ready(Ok::<_, HandlerError>(shaped))
    };
    host.filter(&CONTEXT, PERSONA_PRIORITY, shape).map(drop).map_err(ExtensionError::new)
}

/// Storage if it is there; without it the journal is in memory and ends with the program.
async fn journal(host: &Host) -> Result<Journal, ExtensionError> {
    if let Ok(storage) = host.storage() {
        host.define_migrations(MIGRATIONS.to_vec()).await?;
        return Ok(Journal::new(storage));
    }
    let backend = SqliteBackend::open(&Location::Memory).map_err(ExtensionError::new)?;
    let storage = StorageBackend::open(&backend, NAMESPACE);
    storage.migrate(MIGRATIONS.to_vec()).await.map_err(ExtensionError::new)?;
    Ok(Journal::new(storage))
}

/// Hooks run in script workers.
fn hook_runner(host: &Host) -> Result<Arc<dyn HookRunning>, ExtensionError> {
    Ok(Arc::new(HookRunner {
        workers: HookWorkers::new().map_err(|why| ExtensionError::new(std::io::Error::other(why)))?,
        clock: host.clock(),
        threads: KeptThreads::new("routing-hook"),
        folders: host.folders(),
        timeout_ms: host.settings().read("hook_timeout_ms").unwrap_or(HOOK_TIMEOUT_MS),
    }))
}

fn router(host: &Host, journal: Arc<Journal>, hooks: Arc<dyn HookRunning>) -> Result<Arc<Router>, ExtensionError> {
    let owner = Owner::register(&host.folders().state.join(OWNERS), host.ids().next_id());
    let owner = Arc::new(owner.map_err(ExtensionError::new)?);
    let settings = host.settings();
    let folders = host.folders();
    let workdir = canonicalize(&folders.workdir).unwrap_or_else(|_| folders.workdir.clone());
    let (spawning, logging) = (host.clone(), host.clone());
    let sessions = host.service(&SESSIONS).map_err(ExtensionError::new)?;
    Ok(Arc::new(Router {
        ledger: host.service(&EVENT_LEDGER).map_err(ExtensionError::new)?,
        clock: Arc::new(QueueClock { machine: host.clock(), sessions: Arc::clone(&sessions) }),
        sessions,
        journal,
        hooks: Arc::new(HookCatalogue {
            runner: hooks,
            clock: host.clock(),
            folders,
            metas: Mutex::default(),
            files: Mutex::default(),
        }),
        senders: SenderKnowledge::of(&settings),
        redactor: Arc::new(redactor(host)?),
        ids: host.ids(),
        owner: owner.name().to_owned(),
        liveness: owner,
        workspace: workdir.to_string_lossy().into_owned(),
        log: Arc::new(move |level, message| logging.log(level, &message, Map::new())),
        spawn: Arc::new(move |work| {
            let work = async move {
                work.await;
                Ok(())
            };
            // A host that is gone routes nothing any more; the event is taken up by the next process.
            let _ = spawning.spawn("event", work);
        }),
        signal: dispatch_durable_queue::WakeSignal::default(),
        decided: dispatch_durable_queue::WakeSignal::default(),
        routing: std::sync::atomic::AtomicUsize::new(0),
        looked_through: std::sync::atomic::AtomicU64::new(0),
        stopping: std::sync::atomic::AtomicBool::new(false),
    }))
}

/// A clock whose time is that of the session queue: a node whose own clock is wrong takes no event away from another.
struct QueueClock {
    machine: Arc<dyn Clock>,
    sessions: Arc<dyn Sessions>,
}

impl Clock for QueueClock {
    fn now_ms(&self) -> u64 {
        self.sessions.now_ms()
    }

    fn monotonic_ms(&self) -> u64 {
        self.machine.monotonic_ms()
    }

    fn sleep_ms(&self, ms: u64) -> BoxFuture<'static, ()> {
        self.machine.sleep_ms(ms)
    }
}

fn redactor(host: &Host) -> Result<Redactor, ExtensionError> {
    let settings = host.settings();
    let patterns: Vec<UserPattern> = settings.read("redact.patterns").unwrap_or_default();
    let allowed: Vec<String> = settings.read("redact.allow").unwrap_or_default();
    let allowed = allowed.into_iter().map(Allowed::Exact).collect();
    Redactor::new(Options { patterns, allowed, ..Options::default() }).map_err(ExtensionError::new)
}
