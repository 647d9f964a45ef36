//! Several processes on one book, and the hand that kills, stops and restarts them.

use super::check::check;
use super::faulty::{Dice, Faulty};
use super::player::Player;
use crate::book::memory::MemoryBook;
use crate::book::sql::SqlBook;
use crate::book::tables::MIGRATIONS;
use crate::book::{Admission, Book};
use crate::conductor::{Census, Conductor, Means};
use crate::contract::{DispatchId, Mode, Receipt, Submission};
use crate::hub::Hub;
use dispatch_contracts::BoxFuture;
use dispatch_contracts::ids::SessionId;
use dispatch_contracts::ports::{Clock, Spawner};
use dispatch_contracts::storage::{Storage, StorageBackend};
use dispatch_sim::{CountingIds, InlineStore, Sim, SimClock, wait};
use ext_storage_sqlite::contract::{Location, SqliteBackend};
use futures_util::future::{AbortHandle, abortable};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// What a history is played on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Shelf {
    Memory,
    Sqlite,
}

/// A simulated machine room.
pub(super) struct World {
    pub(super) sim: Sim,
    pub(super) dice: Arc<Dice>,
    pub(super) book: Arc<dyn Book>,
    pub(super) receipts: Arc<Mutex<Vec<Receipt>>>,
    pub(super) pace_ms: u64,
    ids: Arc<CountingIds>,
    row_ids: Arc<AtomicU64>,
    dead: Arc<Mutex<Vec<String>>>,
    _folder: Option<tempfile::TempDir>,
}

/// One process.
pub(super) struct Process {
    pub(super) conductor: Arc<Conductor>,
    pub(super) frozen: Arc<AtomicBool>,
    name: String,
    tasks: Arc<Mutex<Vec<AbortHandle>>>,
    dead: Arc<Mutex<Vec<String>>>,
}

impl Process {
    /// `kill -9`: nothing of it runs any more, and the census knows.
    pub(super) fn kill(&self) {
        self.tasks.lock().unwrap().iter().for_each(AbortHandle::abort);
        self.dead.lock().unwrap().push(self.name.clone());
    }
}

struct KnownDead(Arc<Mutex<Vec<String>>>);

impl Census for KnownDead {
    fn is_dead(&self, owner: &str) -> bool {
        self.0.lock().unwrap().iter().any(|dead| dead == owner)
    }
}

impl World {
    pub(super) fn new(seed: u64, shelf: Shelf) -> Self {
        let sim = Sim::new(seed);
        let ids = Arc::new(CountingIds::default());
        let (book, folder) = book(shelf, &sim, &ids);
        Self {
            dice: Arc::new(Dice::new(seed)),
            book,
            receipts: Arc::default(),
            pace_ms: 200,
            ids,
            row_ids: Arc::default(),
            dead: Arc::default(),
            _folder: folder,
            sim,
        }
    }

    pub(super) fn clock(&self) -> SimClock {
        self.sim.clock()
    }

    /// Starts a process that conducts.
    pub(super) fn start(&self, name: &str) -> Process {
        let tasks: Arc<Mutex<Vec<AbortHandle>>> = Arc::default();
        let frozen = Arc::new(AtomicBool::new(false));
        let faulty = Faulty {
            inner: Arc::clone(&self.book),
            clock: self.clock(),
            dice: Arc::clone(&self.dice),
            frozen: Arc::clone(&frozen),
            steps: AtomicU64::new(0),
        };
        let (spawner, handles) = (self.sim.spawner(), Arc::clone(&tasks));
        let spawn: Arc<dyn Fn(BoxFuture<'static, ()>) + Send + Sync> = Arc::new(move |work| {
            let (work, handle) = abortable(work);
            handles.lock().unwrap().push(handle);
            spawner.spawn(Box::pin(async move {
                let _ = work.await;
            }));
        });
        let player = Player {
            clock: self.clock(),
            dice: Arc::clone(&self.dice),
            row_ids: Arc::clone(&self.row_ids),
            pace_ms: self.pace_ms,
        };
        let means = Means {
            clock: Arc::new(self.clock()),
            ids: Arc::clone(&self.ids) as _,
            spawn: Arc::clone(&spawn),
            warn: Arc::new(|_| ()),
            census: Arc::new(KnownDead(Arc::clone(&self.dead))),
        };
        let conductor =
            Conductor::new(Arc::new(faulty), Arc::new(Hub::default()), name.to_owned(), means, Arc::new(player));
        spawn(Box::pin(Arc::clone(&conductor).conduct()));
        Process { conductor, frozen, name: name.to_owned(), tasks, dead: Arc::clone(&self.dead) }
    }

    /// Submits through a process, as the desk does.
    pub(super) async fn submit(&self, process: &Process, submission: Submission) -> Option<DispatchId> {
        let conductor = &process.conductor;
        let admission = Admission {
            id: DispatchId::new(conductor.next_id()),
            session: SessionId::new(conductor.next_id()),
            now_ms: conductor.now_ms(),
            claimant: conductor.claimant(),
            submission,
        };
        let admitted = conductor.book.admit(admission).await.ok()?;
        if let Some(lease) = admitted.lease.clone() {
            conductor.start(lease);
        } else {
            conductor.ring();
        }
        let receipt = Receipt { dispatch: admitted.view.id.clone(), session: admitted.session, fresh: admitted.fresh };
        self.receipts.lock().unwrap().push(receipt.clone());
        Some(receipt.dispatch)
    }

    /// Waits until nothing is left to do.
    pub(super) async fn settle(&self) {
        for _ in 0..4_000 {
            if self.book.queue(None).await.unwrap().is_empty() {
                return;
            }
            self.clock().sleep_ms(100).await;
        }
        panic!("the queue does not empty: {:?}", self.book.queue(None).await.unwrap());
    }

    /// Senders, crashes, freezes and planned restarts; then everything is checked.
    pub(super) fn storm(self) {
        let played = self.sim.block_on(async {
            let mut processes = vec![self.start("p0"), self.start("p1")];
            let mut born = 2;
            for turn in 0..120 {
                self.clock().sleep_ms(self.dice.below(120)).await;
                let at = usize::try_from(self.dice.below(processes.len() as u64)).unwrap();
                match self.dice.below(20) {
                    0 => {
                        processes.swap_remove(at).kill();
                        processes.push(self.start(&format!("p{born}")));
                        born += 1;
                    }
                    1 => processes[at].frozen.store(true, Ordering::Relaxed),
                    2 => {
                        let retired = processes.swap_remove(at);
                        retired.frozen.store(false, Ordering::Relaxed);
                        retired.conductor.drain().await;
                        retired.kill();
                        processes.push(self.start(&format!("p{born}")));
                        born += 1;
                    }
                    // Whoever is stopped takes nothing in.
                    _ if processes[at].frozen.load(Ordering::Relaxed) => {}
                    3 => self.cancel_one(&processes[at]).await,
                    _ => drop(self.submit(&processes[at], self.anything(turn)).await),
                }
                if self.dice.below(6) == 0 {
                    processes.iter().for_each(|process| process.frozen.store(false, Ordering::Relaxed));
                }
            }
            processes.iter().for_each(|process| process.frozen.store(false, Ordering::Relaxed));
            self.settle().await;
            check(&self).await;
            processes.iter().for_each(Process::kill);
        });
        played.expect("nothing hangs");
    }

    async fn cancel_one(&self, process: &Process) {
        let receipts = self.receipts.lock().unwrap().clone();
        let at = usize::try_from(self.dice.below(receipts.len().max(1) as u64)).unwrap();
        if let Some(receipt) = receipts.get(at) {
            let _ = process.conductor.book.cancel(&receipt.dispatch, process.conductor.now_ms()).await;
        }
    }

    fn anything(&self, turn: u64) -> Submission {
        let mode = match self.dice.below(10) {
            0..=4 => Mode::Followup,
            5..=6 => Mode::Steer,
            7..=8 => Mode::Collect,
            _ => Mode::Interrupt,
        };
        Submission {
            session: format!("s{}", self.dice.below(4)),
            text: format!("input {turn}"),
            mode,
            // Some senders say everything twice.
            id: Some(format!("k{}", if self.dice.below(8) == 0 { turn.saturating_sub(1) } else { turn })),
            delivery: serde_json::json!({ "to": self.dice.below(2) }),
            ..Submission::default()
        }
    }
}

fn book(shelf: Shelf, sim: &Sim, ids: &Arc<CountingIds>) -> (Arc<dyn Book>, Option<tempfile::TempDir>) {
    if shelf == Shelf::Memory {
        return (Arc::new(MemoryBook::default()), None);
    }
    let folder = tempfile::tempdir().unwrap();
    let backend = SqliteBackend::open(&Location::File(folder.path().join("d.db"))).unwrap();
    let namespace = ext_conversation_store::contract::NAMESPACE;
    let ledger: Arc<dyn Storage> = Arc::new(InlineStore(backend.open(namespace)));
    let joined: Arc<dyn Storage> = Arc::new(InlineStore(backend.open_joined("session-orchestrator", &[namespace])));
    let clock: Arc<dyn Clock> = Arc::new(sim.clock());
    let conversations = wait(ext_conversation_store::open(ledger, clock, Arc::clone(ids) as _)).unwrap();
    wait(joined.migrate(MIGRATIONS.to_vec())).unwrap();
    (Arc::new(SqlBook::new(joined, conversations)), Some(folder))
}
