//! Sees to it that every account that is read is read by one process at a time: takes leases, keeps them, gives them
//! back.

use crate::account_lease::LEASE_MS;
use crate::account_reader::AccountReader;
use crate::account_rows::{AccountLease, AccountRows};
use crate::channel_registry::ChannelRegistry;
use crate::contract::{ChannelAdapter, Channels, Intake};
use crate::ledger_service::LedgerService;
use dispatch_contracts::BoxFuture;
use dispatch_contracts::cancel::CancelToken;
use dispatch_contracts::ports::Clock;
use futures_util::StreamExt;
use futures_util::future::{Either, select};
use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How often a lease is renewed.
const RENEW_MS: u64 = 5_000;
/// How often an account that another process has is looked at.
const LOOK_MS: u64 = 1_000;

/// The name of an account: its channel, then its own.
type AccountName = (String, String);

/// Starts background work of the extension.
pub(crate) type SpawnWork = Arc<dyn Fn(BoxFuture<'static, ()>) + Send + Sync>;

/// The accounts of this process.
pub(crate) struct AccountSupervisor {
    pub(crate) rows: Arc<AccountRows>,
    pub(crate) channels: Arc<ChannelRegistry>,
    pub(crate) ledger: Arc<LedgerService>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) spawn: SpawnWork,
    pub(crate) warn: Arc<dyn Fn(String) + Send + Sync>,
    pub(crate) stopping: CancelToken,
    pub(crate) held: Mutex<BTreeMap<AccountName, AccountLease>>,
}

impl AccountSupervisor {
    /// Begins with each account as its adapter is registered, until the program ends.
    pub(crate) async fn run(self: Arc<Self>) {
        let mut registered = self.channels.listen();
        let mut known = BTreeSet::new();
        if let Err(error) = self.rows.forget_dead().await {
            (self.warn)(format!("the accounts that are read cannot be looked at: {error}"));
        }
        while !self.stopping.is_cancelled() {
            for adapter in self.channels.all().into_iter().filter(|adapter| adapter.intake() == Intake::Read) {
                for status in adapter.accounts() {
                    let name = (status.channel, status.account);
                    if known.insert(name.clone()) {
                        let (supervisor, adapter) = (Arc::clone(&self), Arc::clone(&adapter));
                        (self.spawn)(Box::pin(async move { supervisor.supervise(adapter, name).await }));
                    }
                }
            }
            select(registered.next(), self.stopping.cancelled()).await;
        }
    }

    /// Takes one account whenever nobody else has it.
    async fn supervise(&self, adapter: Arc<dyn ChannelAdapter>, name: AccountName) {
        let mut has_failed = false;
        while !self.stopping.is_cancelled() {
            match self.rows.claim(&name.0, &name.1).await {
                Ok(Some(lease)) => {
                    has_failed = false;
                    self.held().insert(name.clone(), lease.clone());
                    self.hold(Arc::clone(&adapter), lease).await;
                    continue;
                }
                Ok(None) => has_failed = false,
                Err(error) if !has_failed => {
                    has_failed = true;
                    (self.warn)(format!("account `{}` of channel `{}` cannot be taken: {error}", name.1, name.0));
                }
                Err(_) => {}
            }
            select(self.clock.sleep_ms(LOOK_MS), self.stopping.cancelled()).await;
        }
    }

    /// Reads an account until it is lost or the program ends.
    async fn hold(&self, adapter: Arc<dyn ChannelAdapter>, lease: AccountLease) {
        let reader = AccountReader {
            adapter,
            lease: lease.clone(),
            rows: Arc::clone(&self.rows),
            ledger: Arc::clone(&self.ledger),
            clock: Arc::clone(&self.clock),
            warn: Arc::clone(&self.warn),
        };
        let reading = pin!(reader.run());
        let keeping = pin!(self.keep(&lease));
        let working = pin!(async { select(reading, keeping).await });
        if let Either::Left(_) = select(working, self.stopping.cancelled()).await {
            (self.warn)(format!("account `{}` of channel `{}` is another node's now", lease.account, lease.channel));
        }
    }

    /// Keeps the lease; ends when it is lost, or may have run out while storage did not answer.
    async fn keep(&self, lease: &AccountLease) {
        let mut good_until = self.clock.monotonic_ms() + LEASE_MS;
        loop {
            self.clock.sleep_ms(RENEW_MS).await;
            let asked_at = self.clock.monotonic_ms();
            match self.rows.renew(lease).await {
                Ok(true) => good_until = asked_at + LEASE_MS,
                Ok(false) => return,
                Err(_) if asked_at >= good_until => return,
                Err(_) => {}
            }
        }
    }

    fn held(&self) -> MutexGuard<'_, BTreeMap<AccountName, AccountLease>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stops reading and gives every account back.
    pub(crate) async fn stop(&self) {
        self.stopping.cancel();
        let held: Vec<AccountLease> = std::mem::take(&mut *self.held()).into_values().collect();
        for lease in held {
            if let Err(error) = self.rows.release(&lease).await {
                (self.warn)(format!("account `{}` is given back when its lease runs out: {error}", lease.account));
            }
        }
    }
}
