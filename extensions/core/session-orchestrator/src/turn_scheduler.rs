//! Runs the sessions that have something to do: one turn at a time each, under a lease that is kept alive.

mod drive;

use crate::contract::{DispatchView, SessionNews};
use crate::queue::LEASE_MS;
use crate::queue_store::{Claimant, ExpiredLeases, Lease, QueueError, QueueStore, SessionRest, StartedTurn, TurnStart};
use crate::scope::{DispatchScope, FolderCheck, RunnerScope};
use crate::session_feed::SessionFeed;
use crate::turn_runner::TurnRunner;
use dispatch_contracts::BoxFuture;
use dispatch_contracts::cancel::CancelToken;
use dispatch_contracts::ids::SessionId;
use dispatch_contracts::ports::{Clock, Ids};
use dispatch_durable_queue::{OwnerLiveness, Standing, WakeSignal, drain};
use futures_util::StreamExt;
use futures_util::future::select;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The most sessions that one process runs at once. Most of them wait for a model.
pub(crate) const MAX_RUNNING: usize = 64;
/// How often a lease is renewed.
pub(crate) const RENEW_MS: u64 = 4_000;
/// How often the store is looked at for what other processes put into it.
const POLL_MS: u64 = 1_000;
/// How often leases that ran out are settled.
const SWEEP_MS: u64 = 5_000;

/// What the scheduler needs from outside.
pub(crate) struct SchedulerPorts {
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ids: Arc<dyn Ids>,
    pub(crate) spawn: Arc<dyn Fn(BoxFuture<'static, ()>) + Send + Sync>,
    pub(crate) warn: Arc<dyn Fn(String) + Send + Sync>,
    pub(crate) liveness: Arc<dyn OwnerLiveness>,
    pub(crate) folder_exists: FolderCheck,
}

/// Runs turns for as long as the program does.
pub(crate) struct TurnScheduler {
    pub(crate) store: Arc<QueueStore>,
    pub(crate) feed: Arc<SessionFeed>,
    pub(crate) owner: String,
    ports: SchedulerPorts,
    runner: Arc<TurnRunner>,
    running: Mutex<BTreeMap<SessionId, (String, CancelToken)>>,
    draining: AtomicBool,
    signal: WakeSignal,
    /// Woken when a turn left a reply.
    pub(crate) outbox: Arc<WakeSignal>,
    /// How many replies are under way to their channels.
    pub(crate) sending: AtomicUsize,
}

impl TurnScheduler {
    pub(crate) fn new(
        store: Arc<QueueStore>,
        feed: Arc<SessionFeed>,
        owner: String,
        ports: SchedulerPorts,
        runner: Arc<TurnRunner>,
    ) -> Arc<Self> {
        Arc::new(Self {
            store,
            feed,
            owner,
            ports,
            runner,
            running: Mutex::default(),
            draining: AtomicBool::new(false),
            signal: WakeSignal::default(),
            outbox: Arc::default(),
            sending: AtomicUsize::new(0),
        })
    }

    fn running(&self) -> MutexGuard<'_, BTreeMap<SessionId, (String, CancelToken)>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn now_ms(&self) -> u64 {
        self.ports.clock.now_ms()
    }

    pub(crate) fn clock(&self) -> &Arc<dyn Clock> {
        &self.ports.clock
    }

    /// Does something in the background for as long as the program runs.
    pub(crate) fn spawn(&self, work: BoxFuture<'static, ()>) {
        (self.ports.spawn)(work);
    }

    pub(crate) fn next_id(&self) -> String {
        self.ports.ids.next_id()
    }

    pub(crate) fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }

    /// Who takes a session with its next input, and the turn that begins then.
    pub(crate) fn starter(&self) -> Option<(Claimant, TurnStart)> {
        self.claimant().map(|claimant| (claimant, self.turn_start()))
    }

    /// Who asks for leases, from now on.
    fn claimant(&self) -> Option<Claimant> {
        let free = self.running().len() < MAX_RUNNING && !self.is_draining();
        free.then(|| Claimant {
            owner: self.owner.clone(),
            until_ms: self.now_ms() + LEASE_MS,
            runner: self.runner_scope(),
        })
    }

    /// What this process can run now.
    pub(crate) fn runner_scope(&self) -> RunnerScope {
        self.runner.scope(&self.ports.folder_exists)
    }

    /// Where a message belongs that is sent through this process.
    pub(crate) fn dispatch_scope(&self) -> DispatchScope {
        let RunnerScope { workspace, extensions, settings, .. } = self.runner_scope();
        let (extensions, settings) = (Some(extensions.as_ref().clone()), Some(settings.as_ref().clone()));
        DispatchScope { workspace, extensions, settings, rules: self.runner.rules().to_vec() }
    }

    pub(crate) fn folder_exists(&self) -> &FolderCheck {
        &self.ports.folder_exists
    }

    /// Says something that somebody should know.
    pub(crate) fn warn(&self, message: String) {
        (self.ports.warn)(message);
    }

    /// Tells which owners are known to be dead.
    pub(crate) fn dead_owner_check(&self) -> impl Fn(&str) -> bool + Send + 'static {
        let liveness = Arc::clone(&self.ports.liveness);
        move |owner| liveness.standing(owner) == Standing::Dead
    }

    /// Looks at the store at once instead of at the next tick.
    pub(crate) fn wake(&self) {
        self.signal.wake();
    }

    /// Stops the turn that runs in a session of this process.
    pub(crate) fn stop(&self, session: &SessionId) {
        if let Some((_, cancel)) = self.running().get(session) {
            cancel.cancel();
        }
    }

    /// The same, by label.
    pub(crate) fn stop_label(&self, label: &str) {
        for (known, cancel) in self.running().values() {
            if known == label {
                cancel.cancel();
            }
        }
    }

    pub(crate) fn tell_dispatches(&self, views: impl IntoIterator<Item = DispatchView>) {
        for dispatch in views {
            let label = dispatch.session.clone();
            self.feed.news(&label, SessionNews::Dispatch { dispatch });
        }
    }

    /// Settles what earlier processes left, then runs what is due until the program ends.
    pub(crate) async fn run(self: Arc<Self>) {
        let mut woken = self.signal.listen();
        let mut swept_at = None::<u64>;
        while !self.is_draining() {
            let now = self.ports.clock.monotonic_ms();
            if swept_at.is_none_or(|at| now.saturating_sub(at) >= SWEEP_MS) {
                swept_at = Some(now);
                self.sweep().await;
            }
            let looked_at = self.now_ms();
            self.claim().await;
            let pause = self.pause(looked_at).await;
            select(woken.next(), self.ports.clock.sleep_ms(pause)).await;
        }
    }

    /// How long nothing more is due than at the last look.
    async fn pause(&self, looked_at_ms: u64) -> u64 {
        match self.store.next_due(looked_at_ms).await {
            Ok(Some(at)) => at.saturating_sub(self.now_ms()).clamp(1, POLL_MS),
            Ok(None) | Err(_) => POLL_MS,
        }
    }

    async fn claim(self: &Arc<Self>) {
        let free = MAX_RUNNING.saturating_sub(self.running().len());
        let Some(claimant) = self.claimant() else { return };
        match self.store.claim(claimant, self.now_ms(), u32::try_from(free).unwrap_or_default()).await {
            Ok(leases) => leases.into_iter().for_each(|lease| self.start(lease, None)),
            Err(error) => (self.ports.warn)(format!("the queue cannot be read: {error}")),
        }
    }

    /// Drives a leased session in the background, beginning with a turn that has begun already, if there is one.
    pub(crate) fn start(self: &Arc<Self>, lease: Lease, begun: Option<Box<StartedTurn>>) {
        let cancel = CancelToken::new();
        self.running().insert(lease.session.clone(), (lease.label.clone(), cancel.clone()));
        let this = Arc::clone(self);
        (self.ports.spawn)(Box::pin(async move {
            let session = lease.session.clone();
            let rest = this.drive(lease, begun, cancel).await;
            if let Err(error) = &rest {
                this.complain(error);
            }
            if this.end_of(&session) || rest != Ok(SessionRest::Empty) {
                this.wake();
            }
        }));
    }

    /// Notes that a session is not driven any more; says whether others may have waited for its place.
    fn end_of(&self, session: &SessionId) -> bool {
        let mut running = self.running();
        let was_full = running.len() >= MAX_RUNNING;
        running.remove(session);
        was_full
    }

    fn complain(&self, error: &QueueError) {
        (self.ports.warn)(match error {
            QueueError::Fenced => {
                "a session was taken over by another process; this one has stopped its turn".to_owned()
            }
            other => format!("a session was left to be taken up again: {other}"),
        });
    }

    async fn sweep(&self) {
        match self.settle_abandoned().await {
            Ok(ExpiredLeases { interrupted, requeued, parked }) => {
                self.tell_dispatches(interrupted.into_iter().chain(requeued).chain(parked));
            }
            Err(error) => (self.ports.warn)(format!("the queue cannot be swept: {error}")),
        }
    }

    async fn settle_abandoned(&self) -> Result<ExpiredLeases, QueueError> {
        let owners = self.store.owners().await?;
        let is_dead = |owner: &&String| **owner != self.owner && self.ports.liveness.standing(owner) == Standing::Dead;
        let dead: Vec<String> = owners.iter().filter(is_dead).cloned().collect();
        let swept = self.store.sweep(&dead, self.now_ms()).await?;
        // Whoever held something is forgotten at the next sweep, unless something of theirs is still left then.
        self.ports.liveness.forget_dead(&owners);
        Ok(swept)
    }

    /// Stops taking work; running turns and replies under way get a moment, then they are stopped.
    pub(crate) async fn drain(&self) {
        self.draining.store(true, Ordering::Relaxed);
        self.wake();
        let stop = || self.running().values().for_each(|(_, cancel)| cancel.cancel());
        let is_idle = || self.running().is_empty() && self.sending.load(Ordering::Relaxed) == 0;
        drain(self.ports.clock.as_ref(), is_idle, stop).await;
    }
}
