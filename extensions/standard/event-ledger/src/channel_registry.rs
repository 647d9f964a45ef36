//! The adapters of all channels, by name, and where their accounts stand.

use crate::account_lease::{HolderStanding, shown};
use crate::account_rows::AccountRows;
use crate::contract::{AccountStatus, ChannelAdapter, Channels, Intake, LedgerError};
use dispatch_contracts::BoxFuture;
use dispatch_durable_queue::WakeSignal;
use futures_channel::mpsc::Receiver;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Adapters as extensions register them.
pub(crate) struct ChannelRegistry {
    adapters: Mutex<BTreeMap<String, Arc<dyn ChannelAdapter>>>,
    rows: Arc<AccountRows>,
    registered: WakeSignal,
}

impl ChannelRegistry {
    pub(crate) fn new(rows: Arc<AccountRows>) -> Self {
        Self { adapters: Mutex::default(), rows, registered: WakeSignal::default() }
    }

    /// Hears of adapters that are registered from now on.
    pub(crate) fn listen(&self) -> Receiver<()> {
        self.registered.listen()
    }

    fn adapters(&self) -> MutexGuard<'_, BTreeMap<String, Arc<dyn ChannelAdapter>>> {
        self.adapters.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where an account that is read stands, as its row says.
    async fn read_status(&self, known: AccountStatus) -> Result<AccountStatus, LedgerError> {
        let row = self.rows.find(&known.channel, &known.account).await?;
        let holder = row.as_ref().map_or(HolderStanding::Unknown, |row| self.rows.standing(row));
        Ok(shown(&known.channel, &known.account, row.as_ref(), holder, self.rows.now_ms()))
    }
}

impl Channels for ChannelRegistry {
    fn register(&self, adapter: Arc<dyn ChannelAdapter>) {
        let channel = adapter.channel().to_owned();
        self.adapters().insert(channel, adapter);
        self.registered.wake();
    }

    fn find(&self, channel: &str) -> Option<Arc<dyn ChannelAdapter>> {
        self.adapters().get(channel).cloned()
    }

    fn all(&self) -> Vec<Arc<dyn ChannelAdapter>> {
        self.adapters().values().cloned().collect()
    }

    fn statuses(&self) -> BoxFuture<'_, Result<Vec<AccountStatus>, LedgerError>> {
        Box::pin(async move {
            let mut statuses = Vec::new();
            for adapter in self.all() {
                for known in adapter.accounts() {
                    statuses.push(match adapter.intake() {
                        Intake::Pushed => known,
                        Intake::Read => self.read_status(known).await?,
                    });
                }
            }
            Ok(statuses)
        })
    }

    fn try_again<'a>(&'a self, channel: &'a str, account: &'a str) -> BoxFuture<'a, Result<(), LedgerError>> {
        Box::pin(async move { Ok(self.rows.ask_again(channel, account).await?) })
    }
}
