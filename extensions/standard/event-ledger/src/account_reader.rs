//! One account that this process has: its adapter reads it, rests after a failure, and stops where only a person helps.

use crate::account_lease::{failures_after, pause_ms};
use crate::account_rows::{AccountLease, AccountRows};
use crate::contract::{
    AccountEvents, AccountState, Appended, ChannelAdapter, ChannelError, EventLedger, Inbox, LedgerError, NewEvent,
};
use crate::ledger_service::LedgerService;
use dispatch_contracts::BoxFuture;
use dispatch_contracts::cancel::CancelToken;
use dispatch_contracts::ports::Clock;
use futures_util::FutureExt;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How often an account that rests or stopped is looked at: somebody may have asked for another attempt.
const LOOK_MS: u64 = 1_000;
/// The moment of a connection that was never made.
const NEVER: u64 = u64::MAX;

/// What the reading of one account needs.
pub(crate) struct AccountReader {
    pub(crate) adapter: Arc<dyn ChannelAdapter>,
    pub(crate) lease: AccountLease,
    pub(crate) rows: Arc<AccountRows>,
    pub(crate) ledger: Arc<LedgerService>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) warn: Arc<dyn Fn(String) + Send + Sync>,
}

/// What an account was tried with.
struct TriedWith {
    mark: String,
    retries: u64,
}

impl AccountReader {
    /// Reads the account again and again. Ends only by being dropped, when the account is lost.
    pub(crate) async fn run(&self) {
        let mut failures = 0;
        loop {
            let tried = self.tried_with().await;
            self.report(AccountState::Waiting, Some("connecting".to_owned())).await;
            let (ended, connected_ms) = self.read_once().await;
            match ended {
                Err(ChannelError::Lasting(reason)) => {
                    failures = 0;
                    (self.warn)(format!("{} stopped: {reason}", self.name()));
                    self.report(AccountState::Stopped, Some(reason)).await;
                    self.rest(&tried, None).await;
                }
                ended => {
                    failures = failures_after(failures, connected_ms);
                    let pause = pause_ms(failures);
                    let why = ended.err().map_or_else(|| "the connection ended".to_owned(), |error| error.to_string());
                    let reason = format!("{why}; tried again in {} s", pause / 1_000);
                    if failures == 1 {
                        (self.warn)(format!("{}: {reason}", self.name()));
                    }
                    self.report(AccountState::Waiting, Some(reason)).await;
                    self.rest(&tried, Some(pause)).await;
                }
            }
        }
    }

    fn name(&self) -> String {
        format!("account `{}` of channel `{}`", self.lease.account, self.lease.channel)
    }

    /// Reads until the adapter gives up; says how long it was connected.
    async fn read_once(&self) -> (Result<(), ChannelError>, Option<u64>) {
        let AccountLease { channel, account, .. } = &self.lease;
        let position = match self.ledger.position(channel, account).await {
            Ok(position) => position,
            Err(error) => return (Err(ChannelError::Passing(error.to_string())), None),
        };
        let events = Arc::new(HeldAccount {
            lease: self.lease.clone(),
            rows: Arc::clone(&self.rows),
            ledger: Arc::clone(&self.ledger),
            clock: Arc::clone(&self.clock),
            connected_at_ms: AtomicU64::new(NEVER),
        });
        let inbox =
            Inbox { account: account.clone(), position, events: Arc::clone(&events) as _, cancel: CancelToken::new() };
        let read = AssertUnwindSafe(self.adapter.read(inbox)).catch_unwind().await;
        // A mail that breaks the adapter must not end the account.
        let ended = read.unwrap_or_else(|_| Err(ChannelError::Passing("the adapter failed".to_owned())));
        let since = Some(events.connected_at_ms.load(Ordering::Relaxed)).filter(|at| *at != NEVER);
        (ended, since.map(|at| self.clock.monotonic_ms().saturating_sub(at)))
    }

    async fn tried_with(&self) -> TriedWith {
        TriedWith { mark: self.mark().await, retries: self.retries().await.unwrap_or_default() }
    }

    async fn mark(&self) -> String {
        self.adapter.configuration_mark(&self.lease.account).await
    }

    async fn retries(&self) -> Option<u64> {
        let found = self.rows.find(&self.lease.channel, &self.lease.account).await;
        found.ok().flatten().map(|row| row.retries)
    }

    /// Waits until the pause is over, or somebody changed something or asked for another attempt.
    async fn rest(&self, tried: &TriedWith, pause: Option<u64>) {
        let until = pause.map(|pause| self.clock.monotonic_ms().saturating_add(pause));
        loop {
            let left = until.map_or(LOOK_MS, |until| until.saturating_sub(self.clock.monotonic_ms()));
            if left == 0 {
                return;
            }
            self.clock.sleep_ms(left.min(LOOK_MS)).await;
            // Storage that does not answer asks for nothing.
            let is_asked = self.retries().await.is_some_and(|retries| retries != tried.retries);
            if is_asked || self.mark().await != tried.mark {
                return;
            }
        }
    }

    async fn report(&self, state: AccountState, reason: Option<String>) {
        if let Err(error) = self.rows.report(&self.lease, state, reason).await {
            (self.warn)(format!("the state of {} cannot be stored: {error}", self.name()));
        }
    }
}

/// The way of an account's events into the ledger, under its fence.
struct HeldAccount {
    lease: AccountLease,
    rows: Arc<AccountRows>,
    ledger: Arc<LedgerService>,
    clock: Arc<dyn Clock>,
    connected_at_ms: AtomicU64,
}

impl AccountEvents for HeldAccount {
    fn store(&self, events: Vec<NewEvent>, position: String) -> BoxFuture<'_, Result<Vec<Appended>, LedgerError>> {
        Box::pin(self.ledger.store_read(self.lease.clone(), events, position))
    }

    fn connected(&self, note: Option<String>) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let now = self.clock.monotonic_ms();
            // The first word counts: a later note says nothing about how long the connection lasts.
            let _ = self.connected_at_ms.compare_exchange(NEVER, now, Ordering::Relaxed, Ordering::Relaxed);
            // What cannot be stored is stored with the next renewal or report; the reading goes on.
            let _ = self.rows.report(&self.lease, AccountState::Connected, note).await;
        })
    }
}
