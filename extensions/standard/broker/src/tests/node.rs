//! One simulated node: the real storage, ledgers, session queue, outbox and broker in a host of their own, on a database
//! that all nodes share. It can be killed, stopped for a while, and retired in order.

use super::seeded_hooks::SeededHooks;
use super::surroundings::{EchoModel, IDEMPOTENT, KNOWS, PLAIN, SimAdapter, Surroundings};
use crate::extension::start;
use crate::router::Router;
use dispatch_contracts::BoxFuture;
use dispatch_contracts::extension::{Extension, ExtensionError};
use dispatch_contracts::fault::FaultBudget;
use dispatch_contracts::folders::Folders;
use dispatch_contracts::host::{Host, STORAGE};
use dispatch_contracts::migration::Migration;
use dispatch_contracts::permission::{PermissionDecision, Verdict};
use dispatch_contracts::ports::{Ids, LogRecord, LogSink, Spawner};
use dispatch_contracts::settings::Settings;
use dispatch_contracts::storage::{
    Durability, Keys, Record, Statement, Storage, StorageBackend, StorageError, TransactionWork, WordSearch,
};
use dispatch_contracts::tool::{Effect, Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use dispatch_kernel::host::{Boot, Candidate, ExtensionHost, MemoryDisabledStore, Ports, boot};
use dispatch_sim::{FaultyStore, InlineStore, SimSpawner, StoreFaults};
use ext_event_ledger::contract::{CHANNELS, EVENT_LEDGER, EventLedger};
use ext_session_orchestrator::contract::{SESSIONS, Sessions};
use futures_util::future::{AbortHandle, abortable};
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

const STORAGE_MANIFEST: &str = r#"{
    "id": "storage-sqlite", "name": "Storage", "description": "The shared database.", "version": "0.1.0",
    "apiVersion": "^0.2", "tier": "core", "trust": "bundled",
    "contributes": { "services": ["kernel/storage"] }, "capabilities": ["fs"]
}"#;
const SURROUNDINGS_MANIFEST: &str = r#"{
    "id": "surroundings", "name": "Surroundings", "description": "A seeded model and seeded channels.", "version": "0.1.0",
    "apiVersion": "^0.2", "tier": "standard", "trust": "bundled", "dependsOn": [{ "id": "event-ledger" }],
    "contributes": { "providers": ["seeded"], "tools": ["web_search"] }, "capabilities": ["network"]
}"#;
/// The folders of lock files that say which nodes are alive.
const OWNER_FOLDERS: [&str; 3] = ["owners", "route-owners", "account-owners"];
/// No statement is the last one.
const NEVER: u64 = u64::MAX;

/// How others learn that a node is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Death {
    /// It was on this machine: its locks are free.
    Seen,
    /// It was on another machine: only its leases run out.
    Unseen,
}

/// Counts the transactions of a node, which dies before or behind one of them.
pub(super) struct Fuse {
    left: AtomicU64,
    tasks: Tasks,
}

type Tasks = Arc<Mutex<Vec<AbortHandle>>>;

fn abort(tasks: &Tasks) {
    tasks.lock().unwrap().iter().for_each(AbortHandle::abort);
}

impl Fuse {
    /// Passes one end of a transaction, or never comes back.
    async fn step(&self) {
        let left = self.left.load(Ordering::Relaxed);
        if left == NEVER {
            return;
        }
        self.left.store(left.saturating_sub(1), Ordering::Relaxed);
        if left == 0 {
            abort(&self.tasks);
            std::future::pending::<()>().await;
        }
    }
}

/// A store whose node may die with each transaction.
struct MortalStore {
    inner: FaultyStore,
    fuse: Arc<Fuse>,
}

impl Storage for MortalStore {
    fn migrate(&self, migrations: Vec<Migration>) -> BoxFuture<'_, Result<(), StorageError>> {
        self.inner.migrate(migrations)
    }

    fn query(&self, statement: Statement) -> BoxFuture<'_, Result<Vec<Record>, StorageError>> {
        self.inner.query(statement)
    }

    fn search(&self, search: WordSearch) -> BoxFuture<'_, Result<Vec<Record>, StorageError>> {
        self.inner.search(search)
    }

    fn transact(&self, keys: Keys, work: TransactionWork) -> BoxFuture<'_, Result<Vec<Record>, StorageError>> {
        self.transact_with(keys, Durability::Disk, work)
    }

    fn transact_with(
        &self,
        keys: Keys,
        durability: Durability,
        work: TransactionWork,
    ) -> BoxFuture<'_, Result<Vec<Record>, StorageError>> {
        Box::pin(async move {
            self.fuse.step().await;
            let answer = self.inner.transact_with(keys, durability, work).await;
            self.fuse.step().await;
            answer
        })
    }

    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<Vec<u8>>, StorageError>> {
        self.inner.get(key)
    }

    fn put<'a>(&'a self, key: &'a str, value: Option<Vec<u8>>) -> BoxFuture<'a, Result<(), StorageError>> {
        self.inner.put(key, value)
    }

    fn keys<'a>(&'a self, prefix: &'a str) -> BoxFuture<'a, Result<Vec<String>, StorageError>> {
        self.inner.keys(prefix)
    }
}

/// One node's way to the shared database.
struct NodeBackend {
    shared: Arc<dyn StorageBackend>,
    faults: StoreFaults,
    fuse: Arc<Fuse>,
}

impl NodeBackend {
    fn faulty(&self, store: Arc<dyn Storage>) -> Arc<dyn Storage> {
        let inner = FaultyStore { inner: Arc::new(InlineStore(store)), faults: self.faults.clone() };
        Arc::new(MortalStore { inner, fuse: Arc::clone(&self.fuse) })
    }
}

impl StorageBackend for NodeBackend {
    fn open(&self, namespace: &str) -> Arc<dyn Storage> {
        self.faulty(self.shared.open(namespace))
    }

    fn open_joined(&self, namespace: &str, others: &[&str]) -> Arc<dyn Storage> {
        self.faulty(self.shared.open_joined(namespace, others))
    }
}

struct StorageExtension(Arc<NodeBackend>);

impl Extension for StorageExtension {
    fn manifest(&self) -> Cow<'_, str> {
        Cow::Borrowed(STORAGE_MANIFEST)
    }

    fn activate(&self, host: Host) -> BoxFuture<'_, Result<(), ExtensionError>> {
        let provided = host.provide(&STORAGE, Arc::clone(&self.0) as Arc<dyn StorageBackend>);
        Box::pin(std::future::ready(provided.map(drop).map_err(ExtensionError::new)))
    }
}

struct SearchTool(ToolSpec);

impl Tool for SearchTool {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn effect(&self, _arguments: &Map<String, Value>) -> Effect {
        Effect::Looks
    }

    fn call<'a>(
        &'a self,
        _arguments: Map<String, Value>,
        _context: ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async { Ok(ToolOutput { text: "nothing new".to_owned(), images: Vec::new() }) })
    }
}

struct SurroundingsExtension {
    around: Arc<Surroundings>,
    frozen: Arc<AtomicBool>,
}

impl Extension for SurroundingsExtension {
    fn manifest(&self) -> Cow<'_, str> {
        Cow::Borrowed(SURROUNDINGS_MANIFEST)
    }

    fn activate(&self, host: Host) -> BoxFuture<'_, Result<(), ExtensionError>> {
        Box::pin(async move {
            host.define_provider("seeded", Arc::new(EchoModel(Arc::clone(&self.around))))
                .map_err(ExtensionError::new)?;
            let spec = ToolSpec {
                name: "web_search".to_owned(),
                description: "Searches.".to_owned(),
                parameters: json!({ "type": "object" }),
                concurrency_safe: true,
            };
            host.define_tool(Arc::new(SearchTool(spec))).map_err(ExtensionError::new)?;
            let channels = host.service(&CHANNELS).map_err(ExtensionError::new)?;
            for channel in [PLAIN, KNOWS, IDEMPOTENT] {
                let (around, frozen) = (Arc::clone(&self.around), Arc::clone(&self.frozen));
                channels.register(Arc::new(SimAdapter { channel, around, frozen }));
            }
            Ok(())
        })
    }
}

/// The broker with seeded hooks.
struct SeededBroker {
    around: Arc<Surroundings>,
    router: Mutex<Option<Arc<Router>>>,
}

impl Extension for SeededBroker {
    fn manifest(&self) -> Cow<'_, str> {
        Cow::Borrowed(include_str!("../../manifest.json"))
    }

    fn activate(&self, host: Host) -> BoxFuture<'_, Result<(), ExtensionError>> {
        Box::pin(async move {
            let router = start(&host, Arc::new(SeededHooks(Arc::clone(&self.around)))).await?;
            *self.router.lock().unwrap() = Some(router);
            Ok(())
        })
    }

    fn deactivate(&self) -> BoxFuture<'_, Result<(), ExtensionError>> {
        if let Some(router) = self.router.lock().unwrap().take() {
            router.stop();
        }
        Box::pin(std::future::ready(Ok(())))
    }
}

struct NoLog;

impl LogSink for NoLog {
    fn write(&self, _record: LogRecord) {}
}

struct NodeSpawner {
    spawner: SimSpawner,
    tasks: Tasks,
}

impl Spawner for NodeSpawner {
    fn spawn(&self, future: BoxFuture<'static, ()>) {
        let (work, handle) = abortable(future);
        self.tasks.lock().unwrap().push(handle);
        self.spawner.spawn(Box::pin(async move {
            let _ = work.await;
        }));
    }
}

/// What a node is made of.
pub(super) struct NodeParts {
    pub(super) around: Arc<Surroundings>,
    pub(super) shared: Arc<dyn StorageBackend>,
    pub(super) spawner: SimSpawner,
    pub(super) ids: Arc<dyn Ids>,
    /// The folder of hooks, locks and the workspace.
    pub(super) folder: PathBuf,
}

/// One node.
pub(super) struct Node {
    pub(super) ledger: Arc<dyn EventLedger>,
    pub(super) sessions: Arc<dyn Sessions>,
    pub(super) frozen: Arc<AtomicBool>,
    pub(super) faults: StoreFaults,
    booted: ExtensionHost,
    fuse: Arc<Fuse>,
    tasks: Tasks,
    locks: Vec<PathBuf>,
}

impl Node {
    /// Starts a node.
    pub(super) async fn start(parts: &NodeParts) -> Self {
        let tasks = Tasks::default();
        let frozen = Arc::new(AtomicBool::new(false));
        let faults = StoreFaults {
            clock: parts.around.clock.clone(),
            random: Arc::clone(&parts.around.random),
            frozen: Arc::clone(&frozen),
            fails: Arc::default(),
            loses_answers: Arc::default(),
        };
        let fuse = Arc::new(Fuse { left: AtomicU64::new(NEVER), tasks: Arc::clone(&tasks) });
        let backend =
            NodeBackend { shared: Arc::clone(&parts.shared), faults: faults.clone(), fuse: Arc::clone(&fuse) };
        let before = locks(&parts.folder);
        let extensions: Vec<Arc<dyn Extension>> = vec![
            Arc::new(StorageExtension(Arc::new(backend))),
            ext_conversation_store::extension(),
            ext_session_orchestrator::extension(),
            ext_event_ledger::extension(),
            Arc::new(SurroundingsExtension { around: Arc::clone(&parts.around), frozen: Arc::clone(&frozen) }),
            Arc::new(SeededBroker { around: Arc::clone(&parts.around), router: Mutex::default() }),
        ];
        let spawner = NodeSpawner { spawner: parts.spawner.clone(), tasks: Arc::clone(&tasks) };
        let booted = boot(Boot {
            ports: Ports {
                clock: Arc::new(parts.around.clock.clone()),
                ids: Arc::clone(&parts.ids),
                spawner: Arc::new(spawner),
                log: Arc::new(NoLog),
            },
            extensions: extensions.into_iter().map(Candidate::bundled).collect(),
            settings: settings(),
            folders: folders(&parts.folder),
            permissions: Arc::new(|_| PermissionDecision { verdict: Verdict::Ask, rule: None, reason: String::new() }),
            budget: FaultBudget::default(),
            disabled: Arc::new(MemoryDisabledStore::default()),
            grants: BTreeMap::new(),
        });
        let booted = booted.await.expect("a node starts");
        let (ledger, sessions) = (booted.service(&EVENT_LEDGER), booted.service(&SESSIONS));
        let (ledger, sessions) = (ledger.expect("the ledger runs"), sessions.expect("the queue runs"));
        let locks = locks(&parts.folder).difference(&before).cloned().collect();
        Self { ledger, sessions, frozen, faults, booted, fuse, tasks, locks }
    }

    /// Nothing goes wrong any more between the node and its store.
    pub(super) fn calm(&self) {
        for fault in [&self.faults.frozen, &self.faults.fails, &self.faults.loses_answers] {
            fault.store(false, Ordering::Relaxed);
        }
    }

    /// Lets the node die at the end of its nth transaction from now; each has two ends.
    pub(super) fn die_at(&self, end: u64) {
        self.fuse.left.store(end, Ordering::Relaxed);
    }

    /// Lets the node live on, unless it came to that already.
    pub(super) fn spare(&self) {
        if !self.has_died() {
            self.die_at(NEVER);
        }
    }

    /// Whether it came to that.
    pub(super) fn has_died(&self) -> bool {
        self.fuse.left.load(Ordering::Relaxed) == 0 && self.tasks.lock().unwrap().iter().all(AbortHandle::is_aborted)
    }

    /// `kill -9`: nothing of it runs any more.
    pub(super) fn kill(self, death: Death) {
        abort(&self.tasks);
        let Self { ledger, sessions, booted, locks, .. } = self;
        drop((ledger, sessions, booted));
        if death == Death::Seen {
            for lock in locks {
                // A lock that is still held says itself that its node lives.
                if !lock.exists() {
                    std::fs::write(lock, "").unwrap();
                }
            }
        }
    }

    /// An ordered end.
    pub(super) async fn retire(self) {
        self.calm();
        self.booted.shutdown().await;
        self.kill(Death::Unseen);
    }
}

fn settings() -> Settings {
    let owners: Vec<String> = [PLAIN, KNOWS, IDEMPOTENT].iter().map(|channel| format!("{channel}:owner")).collect();
    Settings::default().with("model.model", "seeded/seeded").with("extensions.broker.route.owners", json!(owners))
}

fn folders(folder: &Path) -> Folders {
    Folders {
        config: folder.join("config"),
        data: folder.join("data"),
        state: folder.join("state"),
        cache: folder.join("cache"),
        project: None,
        workdir: folder.to_owned(),
    }
}

fn locks(folder: &Path) -> BTreeSet<PathBuf> {
    let owners = OWNER_FOLDERS.iter().map(|name| folder.join("state").join(name));
    let entries = owners.flat_map(|owners| std::fs::read_dir(owners).into_iter().flatten().flatten());
    entries.map(|entry| entry.path()).collect()
}
