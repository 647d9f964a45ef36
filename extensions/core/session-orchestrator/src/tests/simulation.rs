//! Several processes on one database, and the hand that kills, stops and restarts them.

use super::check::{check, history};
use super::seeded_model::{SeededModel, boot_host, no_log, settings};
use crate::approval_service::{ApprovalPorts, ApprovalService};
use crate::contract::{DispatchId, DispatchView, Mode, Receipt, Submission};
use crate::queue_store::tables::MIGRATIONS;
use crate::queue_store::{Admission, QueueStore};
use crate::redaction::redactor;
use crate::session_feed::SessionFeed;
use crate::turn_runner::TurnRunner;
use crate::turn_scheduler::{SchedulerPorts, TurnScheduler};
use dispatch_contracts::BoxFuture;
use dispatch_contracts::conversation::Row;
use dispatch_contracts::ids::SessionId;
use dispatch_contracts::ports::{Clock, Spawner};
use dispatch_contracts::storage::{Storage, StorageBackend};
use dispatch_durable_queue::Standing;
use dispatch_kernel::host::{ExtensionHost, HOST, Ports};
use dispatch_sim::{CountingIds, FaultyStore, InlineStore, SeededRandom, Sim, SimClock, StoreFaults, wait};
use ext_conversation_store::contract::{NAMESPACE, open as open_conversations};
use ext_storage_sqlite::contract::{Location, SqliteBackend};
use futures_util::future::{AbortHandle, abortable};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// How often a message is sent that nobody acknowledges.
const MOST_SENDS: u32 = 3;

/// Where SQLite keeps what a history writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Database {
    Memory,
    File,
}

/// A simulated machine with several processes.
pub(super) struct Simulation {
    pub(super) sim: Sim,
    pub(super) random: Arc<SeededRandom>,
    /// The store as nobody disturbs it.
    pub(super) store: QueueStore,
    pub(super) receipts: Arc<Mutex<Vec<Receipt>>>,
    pub(super) pace_ms: u64,
    backend: Arc<dyn StorageBackend>,
    ids: Arc<CountingIds>,
    dead: Arc<Mutex<Vec<String>>>,
    _folder: Option<tempfile::TempDir>,
}

/// Everything that a history left: what became of each input, and the rows of each session.
pub(super) type LeftHistory = (Vec<DispatchView>, Vec<Vec<Row>>);

/// Starts a task of a process, so that it ends with the process.
type SpawnTask = Arc<dyn Fn(BoxFuture<'static, ()>) + Send + Sync>;

struct ProcessSpawner(SpawnTask);

impl Spawner for ProcessSpawner {
    fn spawn(&self, future: BoxFuture<'static, ()>) {
        (self.0)(future);
    }
}

/// One process.
pub(super) struct Process {
    pub(super) scheduler: Arc<TurnScheduler>,
    pub(super) frozen: Arc<AtomicBool>,
    faults: StoreFaults,
    _host: ExtensionHost,
    name: String,
    tasks: Arc<Mutex<Vec<AbortHandle>>>,
    dead: Arc<Mutex<Vec<String>>>,
}

impl Process {
    /// Nothing goes wrong between the process and its store any more.
    fn calm(&self) {
        for fault in [&self.faults.frozen, &self.faults.fails, &self.faults.loses_answers] {
            fault.store(false, Ordering::Relaxed);
        }
    }

    /// `kill -9`: nothing of it runs any more, and everybody knows.
    pub(super) fn kill(&self) {
        self.tasks.lock().unwrap().iter().for_each(AbortHandle::abort);
        self.dead.lock().unwrap().push(self.name.clone());
    }
}

impl Simulation {
    pub(super) fn new(seed: u64, database: Database) -> Self {
        let (backend, folder) = open(database);
        Self { _folder: folder, ..Self::over(seed, Arc::new(backend)) }
    }

    /// The same on any backend with an empty database.
    pub(super) fn over(seed: u64, backend: Arc<dyn StorageBackend>) -> Self {
        let sim = Sim::new(seed);
        let ids = Arc::new(CountingIds::default());
        let ledger: Arc<dyn Storage> = Arc::new(InlineStore(backend.open(NAMESPACE)));
        let joined: Arc<dyn Storage> = Arc::new(InlineStore(joined(backend.as_ref())));
        let conversations = wait(open_conversations(ledger, Arc::new(sim.clock()), Arc::clone(&ids) as _)).unwrap();
        wait(joined.migrate(MIGRATIONS.to_vec())).unwrap();
        Self {
            random: Arc::new(SeededRandom::new(seed)),
            store: QueueStore::new(joined, conversations),
            receipts: Arc::default(),
            pace_ms: 200,
            backend,
            ids,
            dead: Arc::default(),
            _folder: None,
            sim,
        }
    }

    /// The queue as one process reaches it.
    async fn store_of(&self, faults: &StoreFaults) -> QueueStore {
        let faulty = |store| -> Arc<dyn Storage> {
            Arc::new(FaultyStore { inner: Arc::new(InlineStore(store)), faults: faults.clone() })
        };
        let clock: Arc<dyn Clock> = Arc::new(self.clock());
        let ledger = open_conversations(faulty(self.backend.open(NAMESPACE)), clock, Arc::clone(&self.ids) as _);
        QueueStore::new(faulty(joined(self.backend.as_ref())), ledger.await.unwrap())
    }

    pub(super) fn clock(&self) -> SimClock {
        self.sim.clock()
    }

    /// Starts a process that works off the queue.
    pub(super) async fn start(&self, name: &str) -> Process {
        self.start_in(name, "/simulated/work").await
    }

    /// The same for one that works in another workspace.
    pub(super) async fn start_in(&self, name: &str, workspace: &str) -> Process {
        let tasks: Arc<Mutex<Vec<AbortHandle>>> = Arc::default();
        let frozen = Arc::new(AtomicBool::new(false));
        let faults = StoreFaults {
            clock: self.clock(),
            random: Arc::clone(&self.random),
            frozen: Arc::clone(&frozen),
            fails: Arc::default(),
            loses_answers: Arc::default(),
        };
        let store = Arc::new(self.store_of(&faults).await);
        let (spawner, handles) = (self.sim.spawner(), Arc::clone(&tasks));
        let spawn: SpawnTask = Arc::new(move |work| {
            let (work, handle) = abortable(work);
            handles.lock().unwrap().push(handle);
            spawner.spawn(Box::pin(async move {
                let _ = work.await;
            }));
        });
        let feed = Arc::new(SessionFeed::default());
        let (booted, runner) = self.runner(Arc::clone(&spawn), &store, Arc::clone(&feed), workspace).await;
        let dead = Arc::clone(&self.dead);
        let standing = move |owner: &str| match dead.lock().unwrap().iter().any(|dead| dead == owner) {
            true => Standing::Dead,
            false => Standing::Alive,
        };
        let ports = SchedulerPorts {
            clock: Arc::new(self.clock()),
            ids: Arc::clone(&self.ids) as _,
            spawn: Arc::clone(&spawn),
            warn: Arc::new(|_| ()),
            liveness: Arc::new(standing),
            folder_exists: Arc::new(|_| true),
        };
        let scheduler = TurnScheduler::new(store, feed, name.to_owned(), ports, Arc::new(runner));
        spawn(Box::pin(Arc::clone(&scheduler).run()));
        let dead = Arc::clone(&self.dead);
        Process { scheduler, frozen, faults, _host: booted, name: name.to_owned(), tasks, dead }
    }

    /// The turn runner of one process, in a host of its own.
    async fn runner(
        &self,
        spawn: SpawnTask,
        store: &Arc<QueueStore>,
        feed: Arc<SessionFeed>,
        workspace: &str,
    ) -> (ExtensionHost, TurnRunner) {
        let model = SeededModel { clock: self.clock(), random: Arc::clone(&self.random), pace_ms: self.pace_ms };
        let ports = Ports {
            clock: Arc::new(self.clock()),
            ids: Arc::clone(&self.ids) as _,
            spawner: Arc::new(ProcessSpawner(Arc::clone(&spawn))),
            log: no_log(),
        };
        let (booted, host) = boot_host(model, ports, workspace).await;
        let kernel = host.service(&HOST).unwrap();
        let (clock, ids) = (Arc::new(self.clock()), Arc::clone(&self.ids) as _);
        let asking = ApprovalPorts { clock, is_below_agent: false, ids, spawn };
        let approvals = Arc::new(ApprovalService::new(Arc::clone(store), feed, asking));
        let redactor = Arc::new(redactor(&settings()).unwrap());
        (booted, TurnRunner::new(host, kernel, approvals, redactor, settings()))
    }

    /// Submits as a sender does: what was not acknowledged is sent again, under the same id.
    pub(super) async fn submit(&self, process: &Process, submission: Submission) -> Option<DispatchId> {
        for _ in 0..MOST_SENDS {
            if let Some(id) = self.offer(process, submission.clone()).await {
                return Some(id);
            }
            if submission.id.is_none() {
                break;
            }
        }
        None
    }

    /// Submits through a process, as the service does.
    async fn offer(&self, process: &Process, submission: Submission) -> Option<DispatchId> {
        let scheduler = &process.scheduler;
        let admission = Admission {
            id: DispatchId::new(scheduler.next_id()),
            session: SessionId::new(scheduler.next_id()),
            now_ms: scheduler.now_ms(),
            claimant: scheduler.starter(),
            scope: scheduler.dispatch_scope(),
            submission,
        };
        let admitted = scheduler.store.admit(admission).await.ok()?;
        if let Some(lease) = admitted.lease.clone() {
            scheduler.start(lease, admitted.begun);
        } else {
            scheduler.wake();
        }
        let receipt = Receipt {
            dispatch: admitted.view.id.clone(),
            session: admitted.session,
            fresh: admitted.fresh,
            mode: admitted.view.mode,
            note: admitted.steer_obstacle,
        };
        self.receipts.lock().unwrap().push(receipt.clone());
        Some(receipt.dispatch)
    }

    /// Waits until nothing is left to do.
    pub(super) async fn settle(&self) {
        for _ in 0..4_000 {
            if self.store.queue(None).await.unwrap().is_empty() {
                return;
            }
            self.clock().sleep_ms(100).await;
        }
        panic!("the queue does not empty: {:?}", self.store.queue(None).await.unwrap());
    }

    /// Senders, crashes, freezes, planned restarts, full disks and lost answers; then everything is checked.
    pub(super) fn storm(self) -> LeftHistory {
        let played = self.sim.block_on(async {
            let mut processes = vec![self.start("p0").await, self.start("p1").await];
            let mut born = 2;
            for turn in 0..120 {
                self.clock().sleep_ms(self.random.below(120)).await;
                let at = usize::try_from(self.random.below(processes.len() as u64)).unwrap();
                match self.random.below(24) {
                    0 => {
                        processes.swap_remove(at).kill();
                        processes.push(self.start(&format!("p{born}")).await);
                        born += 1;
                    }
                    1 => processes[at].frozen.store(true, Ordering::Relaxed),
                    2 => {
                        let retired = processes.swap_remove(at);
                        retired.calm();
                        retired.scheduler.drain().await;
                        retired.kill();
                        processes.push(self.start(&format!("p{born}")).await);
                        born += 1;
                    }
                    20..=21 => processes[at].faults.fails.store(true, Ordering::Relaxed),
                    22..=23 => processes[at].faults.loses_answers.store(true, Ordering::Relaxed),
                    // Whoever is stopped takes nothing in.
                    _ if processes[at].frozen.load(Ordering::Relaxed) => {}
                    3 => self.cancel_one(&processes[at]).await,
                    _ => drop(self.submit(&processes[at], self.anything(turn)).await),
                }
                if self.random.below(6) == 0 {
                    processes.iter().for_each(Process::calm);
                }
            }
            processes.iter().for_each(Process::calm);
            self.settle().await;
            check(&self).await;
            processes.iter().for_each(Process::kill);
            history(&self).await
        });
        played.expect("nothing hangs")
    }

    async fn cancel_one(&self, process: &Process) {
        let receipts = self.receipts.lock().unwrap().clone();
        let at = usize::try_from(self.random.below(receipts.len().max(1) as u64)).unwrap();
        if let Some(receipt) = receipts.get(at) {
            let _ = process.scheduler.store.cancel(&receipt.dispatch, process.scheduler.now_ms()).await;
        }
    }

    fn anything(&self, turn: u64) -> Submission {
        let mode = match self.random.below(10) {
            0..=4 => Mode::Followup,
            5..=6 => Mode::Steer,
            7..=8 => Mode::Collect,
            _ => Mode::Interrupt,
        };
        Submission {
            session: format!("s{}", self.random.below(4)),
            text: format!("input {turn}"),
            mode,
            // Some senders say everything twice.
            id: Some(format!("k{}", if self.random.below(8) == 0 { turn.saturating_sub(1) } else { turn })),
            delivery: serde_json::json!({ "to": self.random.below(2) }),
            ..Submission::default()
        }
    }
}

fn joined(backend: &dyn StorageBackend) -> Arc<dyn Storage> {
    backend.open_joined("session-orchestrator", &[NAMESPACE])
}

fn open(database: Database) -> (SqliteBackend, Option<tempfile::TempDir>) {
    let folder = (database == Database::File).then(|| tempfile::tempdir().unwrap());
    let location = folder.as_ref().map_or(Location::Memory, |it| Location::File(it.path().join("d.db")));
    (SqliteBackend::open(&location).unwrap(), folder)
}
