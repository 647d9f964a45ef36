//! Sends what turns wrote for their channels: one attempt at a time per reply, and none by guess.

use crate::contract::{
    Outbox, OutboxError, ReplyCount, ReplyFilter, ReplySender, ReplyState, ReplyView, SendAttempt, SettledAs,
};
use crate::queue_store::{AttemptEnd, QueueStore, TakenReply, after_verdict};
use crate::turn_scheduler::TurnScheduler;
use dispatch_contracts::BoxFuture;
use dispatch_durable_queue::WakeSignal;
use futures_util::StreamExt;
use futures_util::future::{Either, join_all, select};
use serde_json::Value;
use std::sync::{Arc, Mutex, PoisonError};

/// How long one attempt may take; after that it may have arrived.
const SEND_MS: u64 = 60_000;
/// How long a reply belongs to its sender.
const SEND_LEASE_MS: u64 = SEND_MS + 30_000;
/// How often a reply that did not leave is tried.
const MAX_SENDS: u32 = 10;
/// How long to wait before the second attempt; it doubles with each.
const SEND_BACKOFF_MS: u64 = 1_000;
/// The longest wait between two attempts.
const MAX_SEND_BACKOFF_MS: u64 = 10 * 60_000;
/// How many replies to one channel are sent at once.
const MAX_SENDING: u32 = 16;
/// How often the outbox is looked at for what other processes wrote.
const OUTBOX_POLL_MS: u64 = 1_000;

/// The outbox of this process.
pub(crate) struct OutboxService {
    pub(crate) store: Arc<QueueStore>,
    pub(crate) scheduler: Arc<TurnScheduler>,
    pub(crate) sender: Mutex<Option<Arc<dyn ReplySender>>>,
    pub(crate) signal: Arc<WakeSignal>,
}

impl OutboxService {
    fn sender(&self) -> Option<Arc<dyn ReplySender>> {
        self.sender.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Sends what is due until the program ends.
    pub(crate) async fn run(self: Arc<Self>) {
        let mut woken = self.signal.listen();
        while !self.scheduler.is_draining() {
            let looked_at = self.scheduler.now_ms();
            let sent = match self.round().await {
                Ok(sent) => sent,
                Err(error) => {
                    self.scheduler.warn(format!("the outbox cannot be used: {error}"));
                    0
                }
            };
            if sent == 0 {
                let pause = self.pause(looked_at).await;
                select(woken.next(), self.scheduler.clock().sleep_ms(pause)).await;
            }
        }
    }

    async fn pause(&self, looked_at_ms: u64) -> u64 {
        match self.store.next_reply_due(looked_at_ms).await {
            Ok(Some(at)) => at.saturating_sub(self.scheduler.now_ms()).clamp(1, OUTBOX_POLL_MS),
            Ok(None) | Err(_) => OUTBOX_POLL_MS,
        }
    }

    /// Sends what is due now; says how much it was.
    async fn round(&self) -> Result<usize, OutboxError> {
        let Some(sender) = self.sender() else { return Ok(0) };
        let (now, owner) = (self.scheduler.now_ms(), &self.scheduler.owner);
        let dead = self.scheduler.dead_owner_check();
        let asked = Arc::clone(&sender);
        let takes = move |channel: &str| asked.takes(channel);
        let left = self.store.take_abandoned(takes, owner, dead, now, now + SEND_LEASE_MS).await?;
        for taken in left {
            let verdict = sender.reconcile(taken.view.clone()).await;
            self.store.end_attempt(&taken, after_verdict(verdict, self.scheduler.now_ms())).await?;
        }
        let mut attempts = Vec::new();
        for channel in self.store.waiting_channels().await?.into_iter().filter(|channel| sender.takes(channel)) {
            let now = self.scheduler.now_ms();
            let taken = self.store.take_replies(&channel, owner, now, now + SEND_LEASE_MS, MAX_SENDING).await?;
            attempts.extend(taken.into_iter().map(|taken| self.attempt(Arc::clone(&sender), taken)));
        }
        let count = attempts.len();
        for ended in join_all(attempts).await {
            ended?;
        }
        Ok(count)
    }

    async fn attempt(&self, sender: Arc<dyn ReplySender>, taken: TakenReply) -> Result<(), OutboxError> {
        let limit = self.scheduler.clock().sleep_ms(SEND_MS);
        let attempt = match select(sender.send(taken.view.clone()), limit).await {
            Either::Left((attempt, _)) => attempt,
            Either::Right(_) => SendAttempt::Unknown(format!("timed out after {} s", SEND_MS / 1_000)),
        };
        let end = match attempt {
            SendAttempt::Unknown(reason) => {
                let verdict = sender.reconcile(taken.view.clone()).await;
                let mut end = after_verdict(verdict, self.scheduler.now_ms());
                if !end.state.is_settled() {
                    end = later(&taken.view, reason, end.now_ms);
                } else if end.state == ReplyState::Unknown {
                    end.reason = format!("{reason}; {}", end.reason);
                }
                end
            }
            SendAttempt::NotSent(reason) => later(&taken.view, reason, self.scheduler.now_ms()),
            SendAttempt::Sent(receipt) => {
                ended(ReplyState::Sent, String::new(), Some(Value::Object(receipt)), self.scheduler.now_ms())
            }
            SendAttempt::Refused(reason) => ended(ReplyState::Failed, reason, None, self.scheduler.now_ms()),
        };
        self.store.end_attempt(&taken, end).await.map(drop)
    }
}

fn ended(state: ReplyState, reason: String, receipt: Option<Value>, now_ms: u64) -> AttemptEnd {
    AttemptEnd { state, reason, receipt, not_before_ms: now_ms, now_ms }
}

/// Another attempt in a while, or the end if there were enough.
fn later(view: &ReplyView, reason: String, now_ms: u64) -> AttemptEnd {
    if view.attempt >= MAX_SENDS {
        return ended(ReplyState::Failed, format!("{reason} (tried {} times)", view.attempt), None, now_ms);
    }
    let wait = SEND_BACKOFF_MS.saturating_mul(1 << view.attempt.saturating_sub(1).min(20)).min(MAX_SEND_BACKOFF_MS);
    AttemptEnd { not_before_ms: now_ms + wait, ..ended(ReplyState::Pending, reason, None, now_ms) }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{DispatchId, SendVerdict};
    use dispatch_contracts::ids::TurnId;

    fn tried(attempt: u32) -> ReplyView {
        ReplyView {
            id: "t.0".to_owned(),
            turn: TurnId::new("t"),
            part: 0,
            dispatch: DispatchId::new("d"),
            session: "main".to_owned(),
            channel: "mail".to_owned(),
            delivery: Value::Null,
            text: "x".to_owned(),
            state: ReplyState::Sending,
            reason: String::new(),
            attempt,
            receipt: None,
            at_ms: 0,
            changed_at_ms: 0,
        }
    }

    #[test]
    fn attempts_come_later_and_later_and_end() {
        for (attempt, not_before, state) in [
            (1, 1_000, ReplyState::Pending),
            (2, 2_000, ReplyState::Pending),
            (9, 256_000, ReplyState::Pending),
            (MAX_SENDS, 0, ReplyState::Failed),
        ] {
            let end = later(&tried(attempt), "busy".to_owned(), 0);
            assert_eq!((end.not_before_ms, end.state), (not_before, state), "{attempt}");
        }
    }

    #[test]
    fn what_may_have_arrived_is_sent_again_only_if_that_is_harmless() {
        for (verdict, state) in [
            (SendVerdict::Sent(serde_json::Map::new()), ReplyState::Sent),
            (SendVerdict::NotSent, ReplyState::Pending),
            (SendVerdict::Repeatable, ReplyState::Pending),
            (SendVerdict::Unresolved, ReplyState::Unknown),
        ] {
            assert_eq!(after_verdict(verdict, 5).state, state);
        }
    }
}
