//! A seeded history: senders who repeat themselves, nodes that are killed, stopped and retired, a store that fails and
//! loses answers; then rest, in which everything must come to its end.

use super::invariants::Left;
use super::node::{Death, Node, NodeParts};
use super::seeded_hooks::HOOKS;
use super::surroundings::{IDEMPOTENT, KNOWS, PLAIN, Surroundings};
use dispatch_contracts::ports::{Clock, Spawner};
use dispatch_contracts::statement;
use dispatch_contracts::storage::{Columns, Storage, StorageBackend};
use dispatch_sim::{CountingIds, InlineStore, SeededRandom, Sim, SimClock};
use ext_event_ledger::contract::{EventLedger, EventOrigin, NewEvent, PeerKind};
use ext_storage_sqlite::contract::{Location, SqliteBackend};
use futures_util::future::{Either, select};
use serde_json::Map;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// How often something happens in a history.
const STEPS: u64 = 60;
/// How long a sender waits to be acknowledged.
const ACKNOWLEDGE_MS: u64 = 3_000;
/// How long a history may take to come to rest: longer than every lease and every pause between attempts together.
const REST_MS: u64 = 3_600_000;
/// How often that is looked at.
const LOOK_MS: u64 = 250;

/// A simulated installation.
pub(super) struct Storm {
    pub(super) sim: Sim,
    pub(super) around: Arc<Surroundings>,
    parts: NodeParts,
    entrances: Entrances,
    sending: Arc<AtomicU64>,
    sent: AtomicU64,
    _folder: tempfile::TempDir,
}

/// The ledgers that senders can reach.
type Entrances = Arc<Mutex<Vec<Arc<dyn EventLedger>>>>;

impl Storm {
    pub(super) fn new(seed: u64) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let hooks = folder.path().join("config/hooks");
        std::fs::create_dir_all(&hooks).unwrap();
        for hook in HOOKS {
            std::fs::write(hooks.join(format!("{hook}.ts")), format!("// {hook}")).unwrap();
        }
        let sim = Sim::new(seed);
        let around = Arc::new(Surroundings {
            clock: sim.clock(),
            random: Arc::new(SeededRandom::new(seed)),
            acknowledged: Mutex::default(),
            calls: Mutex::default(),
            requests: Mutex::default(),
            pace_ms: 200,
        });
        let parts = NodeParts {
            around: Arc::clone(&around),
            shared: Arc::new(SqliteBackend::open(&Location::Memory).unwrap()),
            spawner: sim.spawner(),
            ids: Arc::new(CountingIds::default()),
            folder: folder.path().canonicalize().unwrap(),
        };
        Self {
            sim,
            around,
            parts,
            entrances: Arc::default(),
            sending: Arc::default(),
            sent: AtomicU64::new(0),
            _folder: folder,
        }
    }

    pub(super) fn clock(&self) -> SimClock {
        self.around.clock.clone()
    }

    /// The folder of hooks, locks and the workspace.
    pub(super) fn folder(&self) -> String {
        self.parts.folder.to_string_lossy().into_owned()
    }

    /// The tables of one extension, as nobody disturbs them.
    pub(super) fn store(&self, namespace: &str, others: &[&str]) -> Arc<dyn Storage> {
        Arc::new(InlineStore(StorageBackend::open_joined(self.parts.shared.as_ref(), namespace, others)))
    }

    pub(super) async fn start(&self) -> Node {
        let node = Node::start(&self.parts).await;
        self.entrances.lock().unwrap().push(Arc::clone(&node.ledger));
        node
    }

    /// Takes a node away from the senders.
    pub(super) fn close(&self, node: &Node) {
        self.entrances.lock().unwrap().retain(|open| !Arc::ptr_eq(open, &node.ledger));
    }

    /// An event that nobody has sent yet.
    pub(super) fn any_event(&self) -> NewEvent {
        let random = &self.around.random;
        let number = self.sent.fetch_add(1, Ordering::Relaxed);
        let channel = [PLAIN, KNOWS, IDEMPOTENT][usize::try_from(random.below(3)).unwrap()];
        let from = if self.around.chance(4) { "owner".to_owned() } else { format!("p{}", random.below(4)) };
        let is_group = self.around.chance(4);
        NewEvent {
            channel: channel.to_owned(),
            account_id: "default".to_owned(),
            external_id: Some(format!("e{number}")),
            from,
            peer_kind: if is_group { PeerKind::Group } else { PeerKind::Dm },
            peer_id: is_group.then(|| format!("room{}", random.below(2))),
            thread_id: self.around.chance(3).then(|| "thread".to_owned()),
            content: format!("hello mark-{number}"),
            metadata: Map::new(),
            origin: self.around.chance(25).then(|| EventOrigin { event: "elsewhere".to_owned(), hops: 5 }),
            ..NewEvent::default()
        }
    }

    /// Sends an event as somebody does who wants it to arrive: again and again, to any node, until one acknowledges it.
    pub(super) fn send(&self, event: NewEvent) {
        let (around, entrances, sending) =
            (Arc::clone(&self.around), Arc::clone(&self.entrances), Arc::clone(&self.sending));
        sending.fetch_add(1, Ordering::Relaxed);
        self.sim.spawner().spawn(Box::pin(async move {
            let mut repeats = u64::from(around.chance(6));
            loop {
                let ledger = {
                    let open = entrances.lock().unwrap();
                    let at = usize::try_from(around.random.below(open.len() as u64)).unwrap();
                    open.get(at).cloned()
                };
                let appended = match &ledger {
                    None => None,
                    Some(ledger) => {
                        match select(ledger.append(event.clone()), around.clock.sleep_ms(ACKNOWLEDGE_MS)).await {
                            Either::Left((Ok(appended), _)) => Some(appended),
                            _ => None,
                        }
                    }
                };
                if let Some(appended) = appended {
                    let key = (event.channel.clone(), event.external_id.clone().unwrap());
                    let before = around.acknowledged.lock().unwrap().insert(key, appended.event.id.clone());
                    assert!(before.is_none_or(|before| before == appended.event.id), "one event, one id");
                    if repeats == 0 {
                        break;
                    }
                    repeats -= 1;
                }
                drop(ledger);
                around.clock.sleep_ms(around.random.below(200)).await;
            }
            sending.fetch_sub(1, Ordering::Relaxed);
        }));
    }

    /// Waits until every event is acknowledged and nothing is left to do.
    pub(super) async fn rest(&self) {
        let until = self.clock().monotonic_ms() + REST_MS;
        while let Some(open) = self.open().await {
            assert!(self.clock().monotonic_ms() < until, "this does not come to an end: {open}");
            self.clock().sleep_ms(LOOK_MS).await;
        }
    }

    /// Something that is not over, in words. What is over last is looked for first.
    async fn open(&self) -> Option<String> {
        let asked: [(&str, &[&str], &str); 5] = [
            ("session-orchestrator", &[], "SELECT state, id FROM outbox WHERE state IN ('pending', 'sending') LIMIT 1"),
            (
                "session-orchestrator",
                &[],
                "SELECT state, id FROM dispatches WHERE state IN ('pending', 'running') LIMIT 1",
            ),
            ("broker", &[], "SELECT 'not handed over', id FROM route_dispatches WHERE state = 'waiting' LIMIT 1"),
            ("broker", &[], "SELECT 'not routed', event FROM event_routes WHERE state <> 'routed' LIMIT 1"),
            (
                "event-ledger",
                &["broker"],
                "SELECT 'not noted', e.id FROM events e
                 WHERE NOT EXISTS (SELECT 1 FROM event_routes r WHERE r.event = e.id) LIMIT 1",
            ),
        ];
        if self.sending.load(Ordering::Relaxed) > 0 {
            return Some("an event is not acknowledged".to_owned());
        }
        for (namespace, others, sql) in asked {
            let found = self.store(namespace, others).query(statement!(sql)).await.unwrap();
            if let Some(record) = found.first() {
                return Some(format!("{} {}", record.text(0).unwrap(), record.text(1).unwrap()));
            }
        }
        None
    }

    /// Plays the history and checks what it left.
    pub(super) fn play(self) -> Left {
        let played = self.sim.block_on(async {
            let mut nodes = vec![self.start().await, self.start().await];
            for _ in 0..STEPS {
                self.clock().sleep_ms(self.around.random.below(150)).await;
                self.one_step(&mut nodes).await;
            }
            nodes.iter().for_each(Node::calm);
            // What is left is for nodes that live: one that died during the rest would be restarted by nobody.
            nodes.iter().for_each(Node::spare);
            self.replace_dead(&mut nodes).await;
            self.rest().await;
            let left = Left::read(&self).await;
            for node in nodes {
                self.close(&node);
                node.kill(Death::Unseen);
            }
            left
        });
        let left = played.expect("nothing hangs");
        left.check(&self.around);
        left
    }

    async fn one_step(&self, nodes: &mut Vec<Node>) {
        let at = usize::try_from(self.around.random.below(nodes.len() as u64)).unwrap();
        match self.around.random.below(24) {
            0..=1 => {
                let node = nodes.swap_remove(at);
                self.close(&node);
                node.kill(if self.around.chance(2) { Death::Seen } else { Death::Unseen });
                nodes.push(self.start().await);
            }
            2 => nodes[at].frozen.store(true, Ordering::Relaxed),
            3 => {
                let node = nodes.swap_remove(at);
                self.close(&node);
                node.retire().await;
                nodes.push(self.start().await);
            }
            4 => nodes[at].faults.fails.store(true, Ordering::Relaxed),
            5 => nodes[at].faults.loses_answers.store(true, Ordering::Relaxed),
            6 => nodes[at].die_at(self.around.random.below(40)),
            7..=9 => nodes.iter().for_each(Node::calm),
            // A pause longer than every lease of the queue.
            10 if self.around.chance(4) => self.clock().sleep_ms(40_000).await,
            _ => self.send(self.any_event()),
        }
        self.replace_dead(nodes).await;
    }

    /// Starts a node in the place of each that has died.
    async fn replace_dead(&self, nodes: &mut Vec<Node>) {
        while let Some(dead) = nodes.iter().position(Node::has_died) {
            let node = nodes.swap_remove(dead);
            self.close(&node);
            node.kill(Death::Seen);
            nodes.push(self.start().await);
        }
    }

    /// A short history in which the first node dies at one end of a transaction and another takes over. Says whether it
    /// came to that end at all.
    pub(super) fn dies_at(self, end: u64, death: Death) -> bool {
        let played = self.sim.block_on(async {
            let first = self.start().await;
            first.die_at(end);
            for _ in 0..3 {
                self.send(NewEvent { origin: None, ..self.any_event() });
            }
            // Longer than every hook, the turns and the sending take.
            for _ in 0..100 {
                if first.has_died() {
                    break;
                }
                self.clock().sleep_ms(LOOK_MS).await;
            }
            let has_died = first.has_died();
            self.close(&first);
            first.kill(death);
            let second = self.start().await;
            self.rest().await;
            let left = Left::read(&self).await;
            self.close(&second);
            second.kill(Death::Unseen);
            (has_died, left)
        });
        let (has_died, left) = played.expect("nothing hangs");
        left.check(&self.around);
        has_died
    }

    /// A history in which nodes come and go, all of them in order.
    pub(super) fn restarts_in_order(self) -> Left {
        let played = self.sim.block_on(async {
            let mut node = self.start().await;
            for _ in 0..6 {
                for _ in 0..3 {
                    self.send(NewEvent { origin: None, ..self.any_event() });
                }
                self.clock().sleep_ms(self.around.random.below(400)).await;
                let next = self.start().await;
                self.close(&node);
                std::mem::replace(&mut node, next).retire().await;
            }
            self.rest().await;
            let left = Left::read(&self).await;
            self.close(&node);
            node.kill(Death::Unseen);
            left
        });
        let left = played.expect("nothing hangs");
        left.check(&self.around);
        left
    }
}
