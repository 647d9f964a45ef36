//! What is counted per channel and day beside the events themselves: repetitions, and requests whose signature was refused.

use crate::contract::ChannelCount;
use dispatch_contracts::host::Host;
use dispatch_contracts::statement;
use dispatch_contracts::storage::{Columns, Keys, Statement, Storage, StorageError, Transaction};
use dispatch_durable_queue::transact;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The length of a day; counts are kept per day of Coordinated Universal Time.
const DAY_MS: u64 = 86_400_000;
/// Refused requests are written together so seldom, so that nobody keeps the disk busy with wrong signatures.
const WRITE_MS: u64 = 1_000;
const DUPLICATES: &str = "duplicates";
const REFUSED: &str = "refused";

/// Counts a repetition of an event.
pub(crate) fn add_duplicate(channel: &str, account: &str, now_ms: u64) -> Statement {
    add(channel, account, DUPLICATES, 1, now_ms)
}

fn add(channel: &str, account: &str, what: &str, more: u64, now_ms: u64) -> Statement {
    statement!(
        "INSERT INTO channel_counts (day, channel, account, what, total) VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT (day, channel, account, what) DO UPDATE SET total = channel_counts.total + excluded.total",
        now_ms / DAY_MS,
        channel,
        account,
        what,
        more
    )
}

/// Requests that were refused and are not written yet, by account.
pub(crate) struct RefusedRequests {
    pub(crate) storage: Arc<dyn Storage>,
    pub(crate) host: Host,
    pub(crate) channel: &'static str,
    pub(crate) waiting: Mutex<BTreeMap<String, u64>>,
}

impl RefusedRequests {
    fn waiting(&self) -> MutexGuard<'_, BTreeMap<String, u64>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a refused request of an account that is configured; it is written within a moment.
    pub(crate) fn add(self: &Arc<Self>, account: &str) {
        let is_first = {
            let mut waiting = self.waiting();
            let is_first = waiting.is_empty();
            *waiting.entry(account.to_owned()).or_default() += 1;
            is_first
        };
        if !is_first {
            return;
        }
        let this = Arc::clone(self);
        let writing = async move {
            this.host.clock().sleep_ms(WRITE_MS).await;
            // A count that cannot be written is lost; the log has the refusals.
            let _ = this.write().await;
            Ok(())
        };
        // A host that is ending writes nothing any more.
        let _ = self.host.spawn("refused requests", writing);
    }

    async fn write(&self) -> Result<(), StorageError> {
        let counted = std::mem::take(&mut *self.waiting());
        let (now_ms, channel) = (self.host.clock().now_ms(), self.channel);
        let work = move |tx: &mut dyn Transaction| {
            for (account, more) in &counted {
                tx.execute(&add(channel, account, REFUSED, *more, now_ms))?;
            }
            Ok::<(), StorageError>(())
        };
        transact(self.storage.as_ref(), Keys::none(), work).await
    }
}

/// What came in per channel since a moment. Repetitions and refusals count by whole days.
pub(crate) async fn channel_counts(storage: &dyn Storage, since_ms: u64) -> Result<Vec<ChannelCount>, StorageError> {
    let received =
        statement!("SELECT channel, count(*) FROM events WHERE received_at >= ?1 GROUP BY channel", since_ms);
    let counted = statement!(
        "SELECT channel, what, CAST(sum(total) AS INTEGER) FROM channel_counts WHERE day >= ?1 GROUP BY channel, what",
        since_ms / DAY_MS
    );
    let mut channels: BTreeMap<String, ChannelCount> = BTreeMap::new();
    for record in storage.query(received).await? {
        of_channel(&mut channels, record.text(0)?).received = record.unsigned(1)?;
    }
    for record in storage.query(counted).await? {
        let counts = of_channel(&mut channels, record.text(0)?);
        match record.text(1)? {
            DUPLICATES => counts.duplicates = record.unsigned(2)?,
            REFUSED => counts.refused = record.unsigned(2)?,
            _ => {}
        }
    }
    Ok(channels.into_values().collect())
}

fn of_channel<'a>(channels: &'a mut BTreeMap<String, ChannelCount>, channel: &str) -> &'a mut ChannelCount {
    let fresh = || ChannelCount { channel: channel.to_owned(), ..ChannelCount::default() };
    channels.entry(channel.to_owned()).or_insert_with(fresh)
}
