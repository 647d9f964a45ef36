//! Prints how many durable transactions a second one and many producers get, and how long each waits.

#![allow(clippy::disallowed_methods, reason = "an example measures the real thing")]
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a measurement prints its result and stops at a fault")]

use dispatch_contracts::migration::Migration;
use dispatch_contracts::statement;
use dispatch_contracts::storage::{Keys, Storage, StorageBackend};
use ext_storage_sqlite::contract::{Location, SqliteBackend};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

const TABLE: Migration = Migration::new(
    1,
    "events",
    &["CREATE TABLE events (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, body TEXT NOT NULL)"],
);
const MEASURED: Duration = Duration::from_secs(3);
const BODY_BYTES: usize = 500;

fn main() {
    let folder = PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| ".".to_owned()));
    println!("{:>9} {:>10} {:>10} {:>10}", "producers", "per second", "p50 ms", "p99 ms");
    for producers in [1, 8, 64] {
        let path = folder.join(format!("durable-rate-{}-{producers}.db", std::process::id()));
        let backend = SqliteBackend::open(&Location::File(path.clone())).unwrap();
        let store = StorageBackend::open(&backend, "bench");
        block_on(store.migrate(vec![TABLE])).unwrap();
        let threads: Vec<_> = (0..producers)
            .map(|producer| {
                let store = Arc::clone(&store);
                std::thread::spawn(move || produce(&store, producer))
            })
            .collect();
        let mut waits: Vec<Duration> = threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
        waits.sort_unstable();
        let at = |share: usize| waits[(waits.len() - 1) * share / 100].as_secs_f64() * 1_000.0;
        let rate = waits.len() as f64 / MEASURED.as_secs_f64();
        println!("{producers:>9} {rate:>10.0} {:>10.2} {:>10.2}", at(50), at(99));
        backend.close();
        for suffix in ["", "-wal", "-shm"] {
            let mut name = path.clone().into_os_string();
            name.push(suffix);
            _ = std::fs::remove_file(name);
        }
    }
}

fn produce(store: &Arc<dyn Storage>, producer: usize) -> Vec<Duration> {
    let body = "x".repeat(BODY_BYTES);
    let (start, mut waits) = (Instant::now(), Vec::new());
    while start.elapsed() < MEASURED {
        let (name, body) = (format!("{producer}-{}", waits.len()), body.clone());
        let asked = Instant::now();
        block_on(store.transact(
            Keys::Everything,
            Box::new(move |tx| {
                tx.execute(&statement!("INSERT INTO events (name, body) VALUES (?1, ?2)", name, body))?;
                Ok(Vec::new())
            }),
        ))
        .unwrap();
        waits.push(asked.elapsed());
    }
    waits
}

fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}
