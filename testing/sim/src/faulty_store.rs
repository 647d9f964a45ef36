//! A real store whose every call takes time and may fail, so that a process can die before a transaction, behind it,
//! or while it waits.

use crate::clock::SimClock;
use crate::random::SeededRandom;
use dispatch_contracts::BoxFuture;
use dispatch_contracts::migration::Migration;
use dispatch_contracts::ports::Clock;
use dispatch_contracts::storage::{
    Durability, Keys, Record, Statement, Storage, StorageError, Transaction, TransactionWork, WordSearch,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The longest that a call waits, before it reaches the store and again before it is answered.
const LONGEST_WAIT_MS: u64 = 4;
/// How often a stopped process looks whether it goes on.
const FROZEN_LOOK_MS: u64 = 50;
/// One transaction in so many fails while storage fails, or is not answered while answers are lost.
const FAILS_ONE_IN: u64 = 10;

/// What goes wrong between one process and its store. Clones share it.
#[derive(Clone)]
pub struct StoreFaults {
    /// The time that calls take.
    pub clock: SimClock,
    /// What decides.
    pub random: Arc<SeededRandom>,
    /// Set while the process is stopped: nothing reaches the store, and no answer comes back.
    pub frozen: Arc<AtomicBool>,
    /// Set while transactions fail now and then.
    pub fails: Arc<AtomicBool>,
    /// Set while the connection breaks now and then behind a commit: it has happened, and nobody is told.
    pub loses_answers: Arc<AtomicBool>,
}

impl StoreFaults {
    async fn delay(&self) {
        self.clock.sleep_ms(self.random.below(LONGEST_WAIT_MS)).await;
        while self.frozen.load(Ordering::Relaxed) {
            self.clock.sleep_ms(FROZEN_LOOK_MS).await;
        }
    }

    fn strikes(&self, fault: &AtomicBool) -> bool {
        fault.load(Ordering::Relaxed) && self.random.below(FAILS_ONE_IN) == 0
    }
}

/// One process's way to a store.
pub struct FaultyStore {
    /// The store.
    pub inner: Arc<dyn Storage>,
    /// What goes wrong.
    pub faults: StoreFaults,
}

fn disk_full() -> StorageError {
    StorageError::Unwritable("the disk is full".to_owned())
}

/// Does everything and then fails, as a commit does that finds no room.
fn failing_at_commit(work: TransactionWork) -> TransactionWork {
    Box::new(move |tx: &mut dyn Transaction| {
        work(tx)?;
        Err(disk_full())
    })
}

macro_rules! delayed {
    ($self:ident, $call:expr) => {
        Box::pin(async move {
            $self.faults.delay().await;
            let answer = $call.await;
            $self.faults.delay().await;
            answer
        })
    };
}

impl Storage for FaultyStore {
    fn migrate(&self, migrations: Vec<Migration>) -> BoxFuture<'_, Result<(), StorageError>> {
        delayed!(self, self.inner.migrate(migrations))
    }

    fn query(&self, statement: Statement) -> BoxFuture<'_, Result<Vec<Record>, StorageError>> {
        delayed!(self, self.inner.query(statement))
    }

    fn search(&self, search: WordSearch) -> BoxFuture<'_, Result<Vec<Record>, StorageError>> {
        delayed!(self, self.inner.search(search))
    }

    fn transact(&self, keys: Keys, work: TransactionWork) -> BoxFuture<'_, Result<Vec<Record>, StorageError>> {
        self.transact_with(keys, Durability::Disk, work)
    }

    fn transact_with(
        &self,
        keys: Keys,
        durability: Durability,
        work: TransactionWork,
    ) -> BoxFuture<'_, Result<Vec<Record>, StorageError>> {
        Box::pin(async move {
            self.faults.delay().await;
            let work = match self.faults.strikes(&self.faults.fails) {
                true if self.faults.random.below(2) == 0 => return Err(disk_full()),
                true => failing_at_commit(work),
                false => work,
            };
            let answer = self.inner.transact_with(keys, durability, work).await;
            self.faults.delay().await;
            if answer.is_ok() && self.faults.strikes(&self.faults.loses_answers) {
                return Err(StorageError::Unreachable("the connection broke".to_owned()));
            }
            answer
        })
    }

    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<Vec<u8>>, StorageError>> {
        delayed!(self, self.inner.get(key))
    }

    fn put<'a>(&'a self, key: &'a str, value: Option<Vec<u8>>) -> BoxFuture<'a, Result<(), StorageError>> {
        delayed!(self, self.inner.put(key, value))
    }

    fn keys<'a>(&'a self, prefix: &'a str) -> BoxFuture<'a, Result<Vec<String>, StorageError>> {
        delayed!(self, self.inner.keys(prefix))
    }

    fn now_ms(&self) -> Option<u64> {
        self.inner.now_ms()
    }
}
