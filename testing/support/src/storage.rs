//! What every storage backend must do, as checks that each backend runs against itself.
//!
//! A backend's test opens a fresh database per check: `for (name, check) in CHECKS { block_on(check(fresh())) }`.
//! A check fails by panicking.

mod migrations;
mod namespaces;
mod transactions;
mod values;
mod words;

use dispatch_contracts::BoxFuture;
use dispatch_contracts::migration::Migration;
use dispatch_contracts::storage::{Keys, Record, Statement, Storage, StorageBackend, StorageError};
use std::future::Future;
use std::sync::Arc;

/// One check: takes a backend over an empty database.
pub type Check = fn(Arc<dyn StorageBackend>) -> BoxFuture<'static, ()>;

/// Every check, by name.
pub const CHECKS: &[(&str, Check)] = &[
    ("a transaction happens as a whole", |backend| Box::pin(transactions::whole(backend))),
    ("a work that fails is rolled back alone", |backend| Box::pin(transactions::alone(backend))),
    ("a work that panics is rolled back alone", |backend| Box::pin(transactions::panicking(backend))),
    ("constraints are told as constraints", |backend| Box::pin(transactions::constraints(backend))),
    ("a broken promise at the end fails one work", |backend| Box::pin(transactions::deferred(backend))),
    ("what is not waited for happens in its order or not at all", |backend| Box::pin(transactions::later(backend))),
    ("changes are counted and returned", |backend| Box::pin(transactions::counts(backend))),
    ("concurrent writers lose nothing", |backend| Box::pin(transactions::concurrent(backend))),
    ("keys are taken in one order", |backend| Box::pin(transactions::keys(backend))),
    ("wrong statements are told as such", |backend| Box::pin(transactions::wrong(backend))),
    ("values come back as they went", |backend| Box::pin(values::columns(backend))),
    ("large values come back whole", |backend| Box::pin(values::large(backend))),
    ("keys and values", |backend| Box::pin(values::keys(backend))),
    ("keys of namespaces are apart", |backend| Box::pin(values::keys_apart(backend))),
    ("text is found by its words", |backend| Box::pin(words::found_by_words(backend))),
    ("a long text is kept and found", |backend| Box::pin(words::large(backend))),
    ("words of others are out of reach", |backend| Box::pin(words::apart(backend))),
    ("tables of others are out of reach", |backend| Box::pin(namespaces::apart(backend))),
    ("a namespace is deleted with all it has", |backend| Box::pin(namespaces::deleted(backend))),
    ("a joined store spans namespaces", |backend| Box::pin(namespaces::joined(backend))),
    ("a store changes rows and nothing else", |backend| Box::pin(namespaces::rows_only(backend))),
    ("a migration keeps to its own tables", |backend| Box::pin(namespaces::migrations_apart(backend))),
    ("migrations run once and forward", |backend| Box::pin(migrations::forward(backend))),
    ("an edited, missing or newer step is refused", |backend| Box::pin(migrations::refused(backend))),
    ("a step that fails leaves nothing", |backend| Box::pin(migrations::failing(backend))),
    ("many may migrate at once", |backend| Box::pin(migrations::at_once(backend))),
];

/// A namespace with the table `notes (id, body)`.
async fn notes(backend: &Arc<dyn StorageBackend>, namespace: &str) -> Arc<dyn Storage> {
    const STEPS: &[Migration] =
        &[Migration::new(1, "notes", &["CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT NOT NULL UNIQUE)"])];
    let store = backend.open(namespace);
    store.migrate(STEPS.to_vec()).await.expect("a table can be made");
    store
}

/// Runs one statement in a transaction of its own.
async fn change(store: &Arc<dyn Storage>, statement: Statement) -> Result<(), StorageError> {
    store.transact(Keys::Everything, Box::new(move |tx| tx.execute(&statement).map(|_| Vec::new()))).await.map(drop)
}

async fn rows(store: &Arc<dyn Storage>, statement: Statement) -> Vec<Record> {
    store.query(statement).await.expect("the query is right")
}

/// The outcome of many at once.
async fn together<F: Future>(futures: impl IntoIterator<Item = F>) -> Vec<F::Output> {
    futures_util::future::join_all(futures).await
}
