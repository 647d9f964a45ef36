//! A real store inside a simulation, where only virtual time passes.

use dispatch_contracts::BoxFuture;
use dispatch_contracts::migration::Migration;
use dispatch_contracts::storage::{
    Durability, Keys, Record, Statement, Storage, StorageError, TransactionWork, WordSearch,
};
use std::sync::Arc;

/// Waits on this thread; may be used inside itself, unlike other executors.
pub fn wait<F: Future>(work: F) -> F::Output {
    struct Unpark(std::thread::Thread);
    impl std::task::Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = std::task::Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut context = std::task::Context::from_waker(&waker);
    let mut work = std::pin::pin!(work);
    loop {
        if let std::task::Poll::Ready(value) = work.as_mut().poll(&mut context) {
            return value;
        }
        std::thread::park();
    }
}

/// A store that answers at once: virtual time does not pass while SQLite works.
pub struct InlineStore(pub Arc<dyn Storage>);

fn at_once<T: Send + 'static>(work: impl Future<Output = T>) -> BoxFuture<'static, T> {
    Box::pin(std::future::ready(wait(work)))
}

impl Storage for InlineStore {
    fn migrate(&self, migrations: Vec<Migration>) -> BoxFuture<'_, Result<(), StorageError>> {
        at_once(self.0.migrate(migrations))
    }

    fn query(&self, statement: Statement) -> BoxFuture<'_, Result<Vec<Record>, StorageError>> {
        at_once(self.0.query(statement))
    }

    fn search(&self, search: WordSearch) -> BoxFuture<'_, Result<Vec<Record>, StorageError>> {
        at_once(self.0.search(search))
    }

    fn transact(&self, keys: Keys, work: TransactionWork) -> BoxFuture<'_, Result<Vec<Record>, StorageError>> {
        at_once(self.0.transact(keys, work))
    }

    fn transact_with(
        &self,
        keys: Keys,
        durability: Durability,
        work: TransactionWork,
    ) -> BoxFuture<'_, Result<Vec<Record>, StorageError>> {
        at_once(self.0.transact_with(keys, durability, work))
    }

    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<Vec<u8>>, StorageError>> {
        at_once(self.0.get(key))
    }

    fn put<'a>(&'a self, key: &'a str, value: Option<Vec<u8>>) -> BoxFuture<'a, Result<(), StorageError>> {
        at_once(self.0.put(key, value))
    }

    fn keys<'a>(&'a self, prefix: &'a str) -> BoxFuture<'a, Result<Vec<String>, StorageError>> {
        at_once(self.0.keys(prefix))
    }

    fn now_ms(&self) -> Option<u64> {
        self.0.now_ms()
    }
}
