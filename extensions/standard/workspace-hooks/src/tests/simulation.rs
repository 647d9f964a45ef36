//! Several processes on one database and one disk, and the hand that kills, stops and restarts them.

use super::disk::{FileAuthor, SimulatedDisk};
use super::simulated_executor::{AttemptScript, ExecutorLog, SimulatedAttempt, SimulatedExecutor};
use crate::contract::{
    Change, Event, ExecutionRecord, FileChange, Hook, HookLimits, HookSet, Receipt, RunQuery, Runs, RunsError, Source,
    Trigger,
};
use crate::engine::redaction_policy::RedactionPolicy;
use crate::engine::{Engine, EnginePorts, HookSource};
use crate::matching::StartedHook;
use crate::run_executor::RunJob;
use crate::run_service::RunService;
use crate::run_store::RunStore;
use crate::run_store::tables::MIGRATIONS;
use dispatch_contracts::BoxFuture;
use dispatch_contracts::ports::Spawner;
use dispatch_contracts::storage::{Storage, StorageBackend};
use dispatch_durable_queue::Standing;
use dispatch_sim::{CountingIds, FaultyStore, InlineStore, SeededRandom, Sim, SimClock, StoreFaults, wait};
use ext_storage_sqlite::contract::{Location, SqliteBackend};
use futures_util::future::{AbortHandle, abortable};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

/// The most runs that go at once in a history.
pub(super) const CAP: u32 = 6;

/// Where SQLite keeps what a history writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Database {
    Memory,
    File,
}

/// A simulated machine with one workspace.
pub(super) struct Simulation {
    pub(super) sim: Sim,
    pub(super) random: Arc<SeededRandom>,
    /// The store as nobody disturbs it.
    pub(super) store: RunStore,
    pub(super) disk: Arc<SimulatedDisk>,
    pub(super) log: Arc<ExecutorLog>,
    pub(super) fails: Arc<AtomicBool>,
    pub(super) script: Mutex<AttemptScript>,
    hooks: Arc<SimulatedHooks>,
    storage: Arc<dyn Storage>,
    ids: Arc<CountingIds>,
    dead: Arc<Mutex<Vec<String>>>,
    _folder: Option<tempfile::TempDir>,
}

/// One process.
pub(super) struct Process {
    pub(super) engine: Arc<Engine>,
    pub(super) service: RunService,
    pub(super) frozen: Arc<AtomicBool>,
    name: String,
    threads: Arc<Mutex<Vec<AbortHandle>>>,
    dead: Arc<Mutex<Vec<String>>>,
}

impl Process {
    /// Everybody takes it for dead, but it lives.
    pub(super) fn presume_dead(&self) {
        self.dead.lock().unwrap().push(self.name.clone());
    }

    /// `kill -9`: nothing of it runs any more, and the liveness knows.
    pub(super) fn kill(&self) {
        self.threads.lock().unwrap().iter().for_each(AbortHandle::abort);
        self.dead.lock().unwrap().push(self.name.clone());
    }
}

/// The hooks in force: a hook fits every file that starts with one of its patterns.
pub(super) struct SimulatedHooks(pub(super) Mutex<Arc<HookSet>>);

impl HookSource for SimulatedHooks {
    fn in_force<'a>(&'a self, _workspace: &'a Path) -> BoxFuture<'a, Result<Arc<HookSet>, RunsError>> {
        Box::pin(std::future::ready(Ok(Arc::clone(&self.0.lock().unwrap()))))
    }

    fn matching(&self, set: &Arc<HookSet>, event: &Event) -> Vec<StartedHook> {
        let meant = |hook: &&Arc<Hook>| match &event.hook {
            Some(id) => hook.id == *id,
            None => hook.trigger == event.trigger,
        };
        let fits = |hook: &Hook, path: &str| {
            hook.pattern.is_empty() || hook.pattern.iter().any(|start| path.starts_with(start.as_str()))
        };
        let started = set.hooks.iter().filter(meant).map(|hook| {
            let files = event.files.iter().filter(|file| fits(hook, &file.path)).cloned().collect();
            (Arc::clone(hook), files)
        });
        started.filter(|(_, files): &StartedHook| event.files.is_empty() || !files.is_empty()).collect()
    }
}

/// The one workspace.
pub(super) fn workspace() -> PathBuf {
    PathBuf::from("/w")
}

impl Simulation {
    pub(super) fn new(seed: u64, database: Database) -> Self {
        let sim = Sim::new(seed);
        let (storage, folder) = open(database);
        let (disk, dead) = (Arc::new(SimulatedDisk::default()), Arc::<Mutex<Vec<String>>>::default());
        Self {
            random: Arc::new(SeededRandom::new(seed)),
            store: RunStore::new(Arc::clone(&storage)),
            storage,
            log: Arc::new(ExecutorLog::new(Arc::clone(&disk), Arc::clone(&dead), CAP as usize)),
            disk,
            fails: Arc::default(),
            script: Mutex::new(Arc::new(|_, _| SimulatedAttempt::success(20))),
            hooks: Arc::new(SimulatedHooks(Mutex::default())),
            ids: Arc::default(),
            dead,
            _folder: folder,
            sim,
        }
    }

    pub(super) fn clock(&self) -> SimClock {
        self.sim.clock()
    }

    /// Puts hooks in force.
    pub(super) fn set_hooks(&self, hooks: Vec<Hook>) {
        let limits = HookLimits { concurrency: CAP, ..HookLimits::default() };
        let hooks = hooks.into_iter().map(Arc::new).collect();
        self.set(HookSet { hooks, limits, ..HookSet::default() });
    }

    pub(super) fn set(&self, set: HookSet) {
        *self.hooks.0.lock().unwrap() = Arc::new(set);
    }

    /// Says what every attempt does.
    pub(super) fn script(&self, script: impl Fn(&RunJob, &SeededRandom) -> SimulatedAttempt + Send + Sync + 'static) {
        *self.script.lock().unwrap() = Arc::new(script);
    }

    /// A process that submits only.
    pub(super) fn visit(&self, name: &str) -> Process {
        let threads: Arc<Mutex<Vec<AbortHandle>>> = Arc::default();
        let frozen = Arc::new(AtomicBool::new(false));
        let faults = StoreFaults {
            clock: self.clock(),
            random: Arc::clone(&self.random),
            frozen: Arc::clone(&frozen),
            fails: Arc::clone(&self.fails),
            loses_answers: Arc::default(),
        };
        let store = RunStore::new(Arc::new(FaultyStore { inner: Arc::clone(&self.storage), faults }));
        let dead = Arc::clone(&self.dead);
        let standing = move |owner: &str| match dead.lock().unwrap().iter().any(|dead| dead == owner) {
            true => Standing::Dead,
            false => Standing::Alive,
        };
        let (spawner, handles) = (self.sim.spawner(), Arc::clone(&threads));
        let executor = SimulatedExecutor {
            log: Arc::clone(&self.log),
            clock: self.clock(),
            random: Arc::clone(&self.random),
            process: name.to_owned(),
            script: self.script.lock().unwrap().clone(),
        };
        let ports = EnginePorts {
            clock: Arc::new(self.clock()),
            ids: Arc::clone(&self.ids) as _,
            spawn: Arc::new(move |work| {
                let (work, handle) = abortable(work);
                handles.lock().unwrap().push(handle);
                spawner.spawn(Box::pin(async move {
                    let _ = work.await;
                }));
            }),
            warn: Arc::new(|_| ()),
            observer: Arc::new(|_| ()),
            liveness: Arc::new(standing),
            owner: name.to_owned(),
            hooks: Arc::clone(&self.hooks) as _,
            contents: Arc::clone(&self.disk) as _,
            next_after: Arc::new(|_, now_ms| Some((now_ms / 60_000 + 1) * 60_000)),
            executor: Arc::new(executor),
            ledger: None,
        };
        let engine = Engine::new(Arc::new(store), ports, RedactionPolicy::default());
        let service = RunService { engine: Arc::clone(&engine) };
        Process { engine, service, frozen, name: name.to_owned(), threads, dead: Arc::clone(&self.dead) }
    }

    /// A process that works off the queue.
    pub(super) fn start(&self, name: &str) -> Process {
        let process = self.visit(name);
        let engine = Arc::clone(&process.engine);
        (process.engine.ports.spawn)(Box::pin(async move {
            let _ = engine.work(&workspace()).await;
        }));
        process
    }

    /// A person saves; nobody is told yet.
    pub(super) fn write(&self, path: &str, content: &str) {
        self.disk.write(path, content, FileAuthor::Person);
    }

    /// Somebody tells a process about a file as it is now.
    pub(super) async fn report(&self, to: &Process, path: &str, source: Source) -> Result<Vec<Receipt>, RunsError> {
        to.service.submit(self.event(path, source)).await
    }

    pub(super) fn event(&self, path: &str, source: Source) -> Event {
        let content_hash = self.disk.content(path);
        let change = if content_hash.is_some() { Change::Changed } else { Change::Deleted };
        Event {
            trigger: Trigger::DidSave,
            workspace: workspace(),
            files: vec![FileChange { path: path.to_owned(), change, content_hash }],
            source,
            hook: None,
            id: None,
            metadata: serde_json::Map::new(),
        }
    }

    /// A person saves with an editor that tells it.
    pub(super) async fn save(&self, to: &Process, path: &str, content: &str) -> Vec<Receipt> {
        self.write(path, content);
        self.disk.take_unreported();
        self.report(to, path, Source::Editor).await.unwrap()
    }

    /// Waits until nothing is left to do.
    pub(super) async fn settle(&self) {
        let name = crate::engine::name(&workspace());
        for _ in 0..20_000 {
            if !self.store.is_busy(&name).await.unwrap() {
                return;
            }
            dispatch_contracts::ports::Clock::sleep_ms(&self.clock(), 100).await;
        }
        panic!("the queue does not empty: {:#?}", self.records().await);
    }

    /// Every run, oldest first.
    pub(super) async fn records(&self) -> Vec<ExecutionRecord> {
        let mut runs = self.store.list(&RunQuery::default(), None, 100_000).await.unwrap();
        runs.reverse();
        runs.iter().map(|run| run.record(None)).collect()
    }
}

fn open(database: Database) -> (Arc<dyn Storage>, Option<tempfile::TempDir>) {
    let folder = (database == Database::File).then(|| tempfile::tempdir().unwrap());
    let location = folder.as_ref().map_or(Location::Memory, |it| Location::File(it.path().join("d.db")));
    let backend = SqliteBackend::open(&location).unwrap();
    let storage: Arc<dyn Storage> = Arc::new(InlineStore(backend.open("workspace-hooks")));
    wait(storage.migrate(MIGRATIONS.to_vec())).unwrap();
    (storage, folder)
}
