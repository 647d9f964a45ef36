//! Rows per second that the storage commits for many producers, each alone in its transaction, as
//! `examples/durable_rate.rs` of storage-sqlite measures it.

use anyhow::{Context as _, Result};
use dispatch_contracts::migration::Migration;
use dispatch_contracts::statement;
use dispatch_contracts::storage::{Keys, Storage, StorageBackend};
use ext_storage_sqlite::contract::{Location, SqliteBackend};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

const TABLE: Migration = Migration::new(
    1,
    "events",
    &["CREATE TABLE events (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, body TEXT NOT NULL)"],
);
const MEASURED: Duration = Duration::from_secs(3);
const BODY_BYTES: usize = 500;

/// The rate on the disk of a folder.
pub(super) fn per_second(folder: &Path, producers: usize) -> Result<f64> {
    let place = tempfile::tempdir_in(folder)?;
    let backend = SqliteBackend::open(&Location::File(place.path().join("rate.db"))).context("a database")?;
    let store = StorageBackend::open(&backend, "bench");
    block_on(store.migrate(vec![TABLE]))??;
    let counts: Result<Vec<u64>> = std::thread::scope(|scope| {
        let start = |producer| {
            let store = &store;
            scope.spawn(move || produce(store, producer))
        };
        let threads: Vec<_> = (0..producers).map(start).collect();
        threads.into_iter().map(|thread| thread.join().map_err(|_| anyhow::anyhow!("a producer failed"))?).collect()
    });
    backend.close();
    Ok(counts?.iter().sum::<u64>() as f64 / MEASURED.as_secs_f64())
}

fn produce(store: &Arc<dyn Storage>, producer: usize) -> Result<u64> {
    let body = "x".repeat(BODY_BYTES);
    let (start, mut count) = (Instant::now(), 0);
    while start.elapsed() < MEASURED {
        let (name, body) = (format!("{producer}-{count}"), body.clone());
        let insert = statement!("INSERT INTO events (name, body) VALUES (?1, ?2)", name, body);
        let work = Box::new(move |tx: &mut dyn dispatch_contracts::storage::Transaction| {
            tx.execute(&insert)?;
            Ok(Vec::new())
        });
        block_on(store.transact(Keys::Everything, work))??;
        count += 1;
    }
    Ok(count)
}

fn block_on<F: Future>(future: F) -> Result<F::Output> {
    Ok(tokio::runtime::Builder::new_current_thread().build()?.block_on(future))
}
