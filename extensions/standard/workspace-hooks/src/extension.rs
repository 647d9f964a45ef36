//! Puts the engine together from what the host offers and what the other parts of this crate provide.

use crate::approval_routes::approval_routes;
use crate::content::content_hash;
use crate::contract::{ContentHash, RUNS, Runs};
use crate::custom_event::route;
use crate::engine::redaction_policy::RedactionPolicy;
use crate::engine::timetables::NextAfter;
use crate::engine::{Engine, EnginePorts, FileHashes, HookSource, RunObserver};
use crate::log_file;
use crate::run_executor::RunExecutor;
use crate::run_routes::RunRoutes;
use crate::run_service::RunService;
use crate::run_store::RunStore;
use crate::run_store::tables::MIGRATIONS;
use crate::runner::{self, executor};
use crate::sources::HookFiles;
use crate::timetable::next_after;
use crate::worker::Workers;
use dispatch_contracts::BoxFuture;
use dispatch_contracts::extension::{Extension, ExtensionError};
use dispatch_contracts::harness::Harness;
use dispatch_contracts::host::Host;
use dispatch_contracts::ports::Level;
use dispatch_contracts::storage::StorageBackend;
use dispatch_os::environment;
use dispatch_os::owner::Owner;
use dispatch_os::threads::offload;
use dispatch_redact::{Allowed, UserPattern};
use ext_event_ledger::contract::EVENT_LEDGER;
use ext_session_orchestrator::contract::SESSIONS;
use ext_storage_sqlite::contract::{Location, SqliteBackend};
use serde_json::Map;
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// The namespace of the tables.
const NAMESPACE: &str = "workspace-hooks";
/// The folder of the owners' lock files, below the folder for state.
const OWNERS: &str = "hook-owners";
/// The folder of worktrees, patches and marks of attempts, below the folder for state.
const STATE: &str = "hook-runs";

/// Workspace hooks.
#[must_use]
pub fn extension() -> Arc<dyn Extension> {
    Arc::new(WorkspaceHooks::default())
}

#[derive(Default)]
struct WorkspaceHooks {
    engine: Mutex<Option<Arc<Engine>>>,
}

impl Extension for WorkspaceHooks {
    fn manifest(&self) -> Cow<'_, str> {
        Cow::Borrowed(include_str!("../manifest.json"))
    }

    fn harness(&self) -> Harness {
        dispatch_contracts::harness!()
    }

    fn activate(&self, host: Host) -> BoxFuture<'_, Result<(), ExtensionError>> {
        Box::pin(async move {
            let engine = start(&host, parts(&host)).await?;
            *self.engine.lock().unwrap_or_else(PoisonError::into_inner) = Some(engine);
            Ok(())
        })
    }

    fn deactivate(&self) -> BoxFuture<'_, Result<(), ExtensionError>> {
        let engine = self.engine.lock().unwrap_or_else(PoisonError::into_inner).take();
        Box::pin(async move {
            if let Some(engine) = engine {
                engine.drain().await;
            }
            Ok(())
        })
    }
}

/// What the engine is put together from.
pub(crate) struct EngineParts {
    pub(crate) hooks: Arc<dyn HookSource>,
    pub(crate) hash: fn(&Path) -> Option<ContentHash>,
    pub(crate) next_after: NextAfter,
    pub(crate) executor: Arc<dyn RunExecutor>,
    pub(crate) redaction: RedactionPolicy,
}

/// Starts the engine and provides it.
pub(crate) async fn start(host: &Host, mut parts: EngineParts) -> Result<Arc<Engine>, ExtensionError> {
    let owner = Owner::register(&host.folders().state.join(OWNERS), host.ids().next_id());
    let owner = Arc::new(owner.map_err(ExtensionError::new)?);
    let redaction = std::mem::take(&mut parts.redaction);
    let engine = Engine::new(Arc::new(store(host).await?), ports(host, owner, parts), redaction);
    let service: Arc<dyn Runs> = Arc::new(RunService { engine: Arc::clone(&engine) });
    host.provide(&RUNS, Arc::clone(&service)).map_err(ExtensionError::new)?;
    let workers = Workers::new(&host.folders().state);
    let stored = move |workspace: &Path| {
        // Whoever sent the event knows that it is stored; the next worker of the workspace takes it up at the latest.
        let _ = environment::current_program().map(|program| workers.ensure(workspace, &program));
    };
    let stored: Arc<dyn Fn(&Path) + Send + Sync> = Arc::new(stored);
    let folder = host.folders().workdir;
    let routes = RunRoutes {
        runs: Arc::clone(&service),
        clock: host.clock(),
        folder: folder.clone(),
        stored: Arc::clone(&stored),
    };
    for route in routes.all().into_iter().chain(approval_routes(&folder, &host.folders().data)) {
        host.define_route(route).map_err(ExtensionError::new)?;
    }
    host.define_route(route(service, folder, stored)).map_err(ExtensionError::new)?;
    Ok(engine)
}

/// Storage if it is there; without it runs are in memory and end with the program.
async fn store(host: &Host) -> Result<RunStore, ExtensionError> {
    if let Ok(storage) = host.storage() {
        host.define_migrations(MIGRATIONS.to_vec()).await?;
        return Ok(RunStore::new(storage));
    }
    host.log(Level::Info, "no storage: runs of hooks are lost when the program ends", Map::new());
    let backend = SqliteBackend::open(&Location::Memory).map_err(ExtensionError::new)?;
    let storage = StorageBackend::open(&backend, NAMESPACE);
    storage.migrate(MIGRATIONS.to_vec()).await.map_err(ExtensionError::new)?;
    Ok(RunStore::new(storage))
}

fn ports(host: &Host, owner: Arc<Owner>, parts: EngineParts) -> EnginePorts {
    let (spawning, warning) = (host.clone(), host.clone());
    EnginePorts {
        clock: host.clock(),
        ids: host.ids(),
        spawn: Arc::new(move |work| {
            let work = async move {
                work.await;
                Ok(())
            };
            // A host that is gone runs nothing any more; the run is settled by the next process.
            let _ = spawning.spawn("run", work);
        }),
        warn: Arc::new(move |message| warning.log(Level::Warn, &message, Map::new())),
        observer: observer(host),
        owner: owner.name().to_owned(),
        liveness: owner,
        hooks: parts.hooks,
        contents: Arc::new(FileContents { hash: parts.hash }),
        next_after: parts.next_after,
        executor: parts.executor,
        ledger: host.service(&EVENT_LEDGER).ok(),
    }
}

/// Each step of a run is a line in the workspace's log; its end is told in the program's own, too.
fn observer(host: &Host) -> RunObserver {
    let host = host.clone();
    Arc::new(move |run| {
        let record = run.record(None);
        let now = dispatch_os::time::rfc3339(i64::try_from(host.clock().now_ms()).unwrap_or(i64::MAX));
        // A disk that takes no log line must not cost a run.
        if let Err(error) = log_file::write(Path::new(&record.workspace), &now, &record) {
            host.log(Level::Debug, &format!("cannot write the log of hooks: {error}"), Map::new());
        }
        if record.status.is_over() {
            host.log(Level::Info, &record.summary(), Map::new());
        }
    })
}

/// Files of a workspace, read on a thread of their own.
struct FileContents {
    hash: fn(&Path) -> Option<ContentHash>,
}

impl FileHashes for FileContents {
    fn hashes<'a>(&'a self, workspace: &'a Path, paths: Vec<String>) -> BoxFuture<'a, Vec<Option<ContentHash>>> {
        let hash = self.hash;
        let files: Vec<PathBuf> = paths.into_iter().map(|path| workspace.join(path)).collect();
        Box::pin(async move {
            if files.is_empty() {
                return Vec::new();
            }
            let all = move || files.iter().map(|file| hash(file)).collect::<Vec<_>>();
            match offload("hook-contents", all.clone()) {
                Ok(reading) => reading.await,
                Err(_) => all(),
            }
        })
    }
}

/// The other parts of this crate, tied to the engine.
fn parts(host: &Host) -> EngineParts {
    let settings = host.settings();
    let patterns: Vec<UserPattern> = settings.read("redact.patterns").unwrap_or_default();
    let allowed: Vec<String> = settings.read("redact.allow").unwrap_or_default();
    let allowed: Vec<_> = allowed.into_iter().map(Allowed::Exact).collect();
    EngineParts {
        hooks: Arc::new(HookFiles::new(host.folders())),
        hash: content_hash,
        next_after: Arc::new(next_after),
        executor: executor(runner::RunnerPorts {
            state: host.folders().state.join(STATE),
            patterns: patterns.clone(),
            allowed: allowed.clone(),
            // Without our own agent, hooks that want it fail and say so; the others run.
            sessions: host.service(&SESSIONS).ok(),
            clock: host.clock(),
        }),
        redaction: RedactionPolicy::new(patterns, allowed),
    }
}
