//! Sends what turns wrote for their channels: one attempt at a time per reply, none by guess, and a channel that is slow
//! holds up no other.

use crate::contract::{
    Outbox, OutboxError, ReplyCount, ReplyFilter, ReplySender, ReplyState, ReplyView, SendAttempt, SendVerdict,
    SettledAs,
};
use crate::queue_store::{AttemptEnd, QueueStore, TakenReplies, TakenReply};
use crate::reply_attempt::{arrived, may_have_arrived, not_sent, refused, too_late};
use crate::turn_scheduler::TurnScheduler;
use dispatch_contracts::BoxFuture;
use dispatch_durable_queue::WakeSignal;
use futures_util::StreamExt;
use futures_util::future::{Either, select};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How long one attempt may take; after that it may have arrived.
const SEND_MS: u64 = 60_000;
/// How long finding out what became of a reply may take.
const RECONCILE_MS: u64 = 20_000;
/// A process that was stopped for so long between taking a reply and sending it does not send it.
const LATEST_START_MS: u64 = 20_000;
/// How long a reply belongs to its sender.
const SEND_LEASE_MS: u64 = LATEST_START_MS + SEND_MS + RECONCILE_MS + 10_000;
/// How long to wait before the end of an attempt is stored again, where storage failed.
const STORE_AGAIN_MS: u64 = 250;
/// How many replies to one channel are sent at once.
const MAX_SENDING: usize = 16;
/// How often the outbox is looked at for what other processes wrote.
const OUTBOX_POLL_MS: u64 = 1_000;

/// The outbox of this process.
pub(crate) struct OutboxService {
    pub(crate) store: Arc<QueueStore>,
    pub(crate) scheduler: Arc<TurnScheduler>,
    pub(crate) sender: Mutex<Option<Arc<dyn ReplySender>>>,
    pub(crate) signal: Arc<WakeSignal>,
    pub(crate) under_way: Mutex<UnderWay>,
    /// Whether replies may wait for something else than being written.
    pub(crate) some_wait: AtomicBool,
}

/// What is done with a reply that this process has taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReplyWork {
    Send,
    /// Its sender is gone.
    FindOut,
}

/// A reply that this process deals with now.
struct ReplyJob {
    taken: TakenReply,
    work: ReplyWork,
    sender: Arc<dyn ReplySender>,
    /// By the machine's own clock, so that a pause of the whole process counts.
    taken_at_ms: u64,
}

impl ReplyJob {
    fn new(taken: TakenReply, work: ReplyWork, sender: &Arc<dyn ReplySender>, taken_at_ms: u64) -> Self {
        Self { taken, work, sender: Arc::clone(sender), taken_at_ms }
    }
}

/// The replies under way, by id, with their channels.
pub(crate) type UnderWay = BTreeMap<String, String>;

/// The place of a reply that is under way; it is free again when this is dropped, however the work on it ended.
struct SendingPlace {
    outbox: Arc<OutboxService>,
    reply: String,
}

impl SendingPlace {
    fn taken(outbox: &Arc<OutboxService>, view: &ReplyView) -> Self {
        outbox.under_way().insert(view.id.clone(), view.channel.clone());
        outbox.scheduler.sending.fetch_add(1, Ordering::Relaxed);
        Self { outbox: Arc::clone(outbox), reply: view.id.clone() }
    }
}

impl Drop for SendingPlace {
    fn drop(&mut self) {
        self.outbox.under_way().remove(&self.reply);
        self.outbox.scheduler.sending.fetch_sub(1, Ordering::Relaxed);
        // The next to the same target, or to a channel that had no place, can go now.
        if self.outbox.some_wait.load(Ordering::SeqCst) {
            self.outbox.signal.wake();
        }
    }
}

impl OutboxService {
    fn sender(&self) -> Option<Arc<dyn ReplySender>> {
        self.sender.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn under_way(&self) -> MutexGuard<'_, UnderWay> {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends what is due until the program ends. What is under way then ends by itself.
    pub(crate) async fn run(self: Arc<Self>) {
        let mut woken = self.signal.listen();
        let mut swept_at = None::<u64>;
        while !self.scheduler.is_draining() {
            let looked_at = self.scheduler.now_ms();
            let now = self.scheduler.clock().monotonic_ms();
            if swept_at.is_none_or(|at| now.saturating_sub(at) >= OUTBOX_POLL_MS) {
                swept_at = Some(now);
                self.start_all(self.take_abandoned().await);
            }
            self.start_all(self.take_due().await);
            let pause = self.scheduler.clock().sleep_ms(self.pause(looked_at).await);
            select(woken.next(), pause).await;
        }
    }

    fn start_all(self: &Arc<Self>, taken: Result<Vec<ReplyJob>, OutboxError>) {
        match taken {
            Ok(jobs) => jobs.into_iter().for_each(|job| self.start(job)),
            Err(error) => self.scheduler.warn(format!("the outbox cannot be used: {error}")),
        }
    }

    /// Deals with one reply in the background, so that none waits for what is done with another.
    fn start(self: &Arc<Self>, job: ReplyJob) {
        let place = SendingPlace::taken(self, &job.taken.view);
        self.scheduler.spawn(Box::pin(async move {
            place.outbox.work_off(&job).await;
        }));
    }

    async fn pause(&self, looked_at_ms: u64) -> u64 {
        if !self.some_wait.load(Ordering::SeqCst) {
            return OUTBOX_POLL_MS;
        }
        match self.store.next_reply_due(looked_at_ms).await {
            Ok(Some(at)) => at.saturating_sub(self.scheduler.now_ms()).clamp(1, OUTBOX_POLL_MS),
            Ok(None) | Err(_) => OUTBOX_POLL_MS,
        }
    }

    /// Takes what others left behind.
    async fn take_abandoned(&self) -> Result<Vec<ReplyJob>, OutboxError> {
        let Some(sender) = self.sender() else { return Ok(Vec::new()) };
        let (asked, busy) = (Arc::clone(&sender), self.under_way().clone());
        let takes = move |reply: &ReplyView| !busy.contains_key(&reply.id) && asked.takes(&reply.channel);
        let (now, began) = (self.scheduler.now_ms(), self.scheduler.clock().monotonic_ms());
        let (owner, dead) = (&self.scheduler.owner, self.scheduler.dead_owner_check());
        let left = self.store.take_abandoned(takes, owner, dead, now, now + SEND_LEASE_MS).await?;
        Ok(left.into_iter().map(|taken| ReplyJob::new(taken, ReplyWork::FindOut, &sender, began)).collect())
    }

    /// Takes what is due now.
    async fn take_due(&self) -> Result<Vec<ReplyJob>, OutboxError> {
        let Some(sender) = self.sender() else { return Ok(Vec::new()) };
        // Whatever ends during this look has the next one begin.
        self.some_wait.store(true, Ordering::SeqCst);
        let (mut jobs, mut some_wait) = (Vec::new(), false);
        for channel in self.store.waiting_channels().await?.into_iter().filter(|channel| sender.takes(channel)) {
            let busy = self.under_way().values().filter(|other| **other == channel).count();
            let free = u32::try_from(MAX_SENDING.saturating_sub(busy)).unwrap_or_default();
            if free == 0 {
                some_wait = true;
                continue;
            }
            let (now, began) = (self.scheduler.now_ms(), self.scheduler.clock().monotonic_ms());
            let owner = &self.scheduler.owner;
            let TakenReplies { taken, some_wait: others_wait } =
                self.store.take_replies(&channel, owner, now, now + SEND_LEASE_MS, free).await?;
            some_wait |= others_wait;
            jobs.extend(taken.into_iter().map(|taken| ReplyJob::new(taken, ReplyWork::Send, &sender, began)));
        }
        self.some_wait.store(some_wait, Ordering::SeqCst);
        Ok(jobs)
    }

    /// Deals with one reply and stores what became of it.
    async fn work_off(&self, job: &ReplyJob) {
        let end = match job.work {
            ReplyWork::Send => self.attempt(job).await,
            ReplyWork::FindOut => self.find_out(job, "its sender stopped").await,
        };
        let waits_again = end.state == ReplyState::Pending;
        self.store_end(job, end).await;
        if waits_again {
            // When it is due has to be looked up.
            self.signal.wake();
        }
    }

    async fn attempt(&self, job: &ReplyJob) -> AttemptEnd {
        let view = &job.taken.view;
        if self.scheduler.clock().monotonic_ms().saturating_sub(job.taken_at_ms) > LATEST_START_MS {
            return too_late(self.scheduler.now_ms());
        }
        let limit = self.scheduler.clock().sleep_ms(SEND_MS);
        let attempt = match select(job.sender.send(view.clone()), limit).await {
            Either::Left((attempt, _)) => attempt,
            Either::Right(_) => SendAttempt::Unknown(format!("timed out after {} s", SEND_MS / 1_000)),
        };
        match attempt {
            SendAttempt::Unknown(reason) => self.find_out(job, &reason).await,
            SendAttempt::NotSent(reason) => not_sent(view, &reason, self.scheduler.now_ms()),
            SendAttempt::Sent(receipt) => arrived(receipt, self.scheduler.now_ms()),
            SendAttempt::Refused(reason) => refused(reason, self.scheduler.now_ms()),
        }
    }

    async fn find_out(&self, job: &ReplyJob, reason: &str) -> AttemptEnd {
        let limit = self.scheduler.clock().sleep_ms(RECONCILE_MS);
        let verdict = match select(job.sender.reconcile(job.taken.view.clone()), limit).await {
            Either::Left((verdict, _)) => verdict,
            Either::Right(_) => SendVerdict::Unresolved,
        };
        may_have_arrived(&job.taken.view, reason, verdict, self.scheduler.now_ms())
    }

    /// What is known of an attempt must not get lost because storage is away for a moment: it would be unknown then.
    async fn store_end(&self, job: &ReplyJob, end: AttemptEnd) {
        loop {
            match self.store.end_attempt(&job.taken, end.clone()).await {
                Ok(_) => return,
                Err(error) => {
                    let age = self.scheduler.clock().monotonic_ms().saturating_sub(job.taken_at_ms);
                    if age > SEND_LEASE_MS {
                        let id = &job.taken.view.id;
                        return self.scheduler.warn(format!("what became of the reply `{id}` is not stored: {error}"));
                    }
                }
            }
            self.scheduler.clock().sleep_ms(STORE_AGAIN_MS).await;
        }
    }
}

impl Outbox for OutboxService {
    fn send_with(&self, sender: Arc<dyn ReplySender>) {
        *self.sender.lock().unwrap_or_else(PoisonError::into_inner) = Some(sender);
        self.signal.wake();
    }

    fn list(&self, filter: ReplyFilter) -> BoxFuture<'_, Result<Vec<ReplyView>, OutboxError>> {
        Box::pin(async move { self.store.replies(&filter).await })
    }

    fn counts(&self, since_ms: u64) -> BoxFuture<'_, Result<Vec<ReplyCount>, OutboxError>> {
        Box::pin(async move { self.store.reply_counts(since_ms).await })
    }

    fn settle<'a>(&'a self, id: &'a str, settled: SettledAs) -> BoxFuture<'a, Result<ReplyView, OutboxError>> {
        Box::pin(async move {
            let view = self.store.settle_reply(id, &self.scheduler.owner, settled, self.scheduler.now_ms()).await?;
            self.signal.wake();
            Ok(view)
        })
    }

    fn take<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<ReplyView>, OutboxError>> {
        Box::pin(async move {
            let now = self.scheduler.now_ms();
            let taken = self.store.take_reply(id, &self.scheduler.owner, now, now + SEND_LEASE_MS).await?;
            Ok(taken.map(|taken| taken.view))
        })
    }
}
