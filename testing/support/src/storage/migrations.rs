//! Migrations run once, forward, each as a whole.

use super::{change, rows, together};
use dispatch_contracts::migration::Migration;
use dispatch_contracts::statement;
use dispatch_contracts::storage::{SqlValue, StorageBackend, StorageError};
use std::sync::Arc;

const FIRST: Migration =
    Migration::new(1, "first", &["CREATE TABLE things (id INTEGER PRIMARY KEY)", "INSERT INTO things (id) VALUES (1)"]);
const SECOND: Migration =
    Migration::new(2, "second", &["ALTER TABLE things ADD COLUMN name TEXT", "UPDATE things SET name = 'unnamed'"]);
const RENAMED: Migration = Migration::new(
    3,
    "rename",
    &["ALTER TABLE things RENAME TO objects", "CREATE INDEX objects_name ON objects (name)"],
);

pub(super) async fn forward(backend: Arc<dyn StorageBackend>) {
    let store = backend.open("a");
    for _ in 0..2 {
        store.migrate(vec![FIRST]).await.expect("steps that were taken are not repeated");
    }
    assert_eq!(rows(&store, statement!("SELECT id FROM things")).await.len(), 1);
    assert_eq!(backend.versions().await, Ok([("a".to_owned(), 1)].into()));
    change(&store, statement!("INSERT INTO things (id) VALUES (2)")).await.expect("the table is there");
    store.migrate(vec![FIRST, SECOND, RENAMED]).await.expect("steps can be appended");
    assert_eq!(backend.versions().await, Ok([("a".to_owned(), 3)].into()));
    let found = rows(&store, statement!("SELECT id, name FROM objects ORDER BY id")).await;
    assert_eq!(found, [1_i64, 2].map(|id| [SqlValue::from(id), SqlValue::from("unnamed")]));
    let old = store.query(statement!("SELECT id FROM things")).await;
    assert!(matches!(old, Err(StorageError::Statement(_))), "{old:?}");
    backend.open("b").migrate(vec![FIRST]).await.expect("a name that is free again can be taken by another");
    assert!(backend.open("b").query(statement!("SELECT id FROM things")).await.is_ok());
    assert!(store.query(statement!("SELECT id FROM things")).await.is_err(), "and is that one's alone");
}

pub(super) async fn refused(backend: Arc<dyn StorageBackend>) {
    const EDITED: Migration = Migration::new(1, "first", &["CREATE TABLE things (id TEXT)"]);
    const THIRD: Migration = Migration::new(3, "third", &["CREATE TABLE more (id INTEGER)"]);
    let store = backend.open("a");
    store.migrate(vec![FIRST, SECOND]).await.expect("the first start");
    for (steps, hint) in [
        (vec![EDITED, SECOND], "was changed"),
        (vec![FIRST], "newer version"),
        (vec![], "newer version"),
        (vec![FIRST, SECOND, THIRD, THIRD], "declared twice"),
        (vec![FIRST, THIRD], "should come next"),
        (vec![SECOND, THIRD], "should come next"),
    ] {
        match store.migrate(steps).await {
            Err(StorageError::Migration(said)) => assert!(said.contains(hint), "{said}"),
            other => panic!("{hint}: {other:?}"),
        }
    }
    assert!(store.query(statement!("SELECT id FROM more")).await.is_err(), "nothing was changed");
    store.migrate(vec![FIRST, SECOND, THIRD]).await.expect("the right steps still work");
}

pub(super) async fn failing(backend: Arc<dyn StorageBackend>) {
    const BAD: Migration = Migration::new(
        2,
        "bad",
        &["CREATE TABLE half (id INTEGER)", "UPDATE things SET id = 7", "INSERT INTO half VALUES (1, 2)"],
    );
    let store = backend.open("a");
    let outcome = store.migrate(vec![FIRST, BAD]).await;
    match outcome {
        Err(StorageError::Migration(said)) => assert!(said.contains("`bad`"), "{said}"),
        other => panic!("{other:?}"),
    }
    assert_eq!(rows(&store, statement!("SELECT id FROM things")).await, [[SqlValue::from(1_i64)]], "step 1 stays");
    assert!(store.query(statement!("SELECT id FROM half")).await.is_err(), "of step 2 nothing stays");
    store.migrate(vec![FIRST, SECOND]).await.expect("a step that was never taken can be corrected");
}

pub(super) async fn at_once(backend: Arc<dyn StorageBackend>) {
    let stores: Vec<_> = (0..8).map(|_| backend.open("a")).collect();
    let outcomes = together(stores.iter().map(|store| store.migrate(vec![FIRST, SECOND]))).await;
    assert!(outcomes.iter().all(Result::is_ok), "{outcomes:?}");
    let store = backend.open("a");
    assert_eq!(rows(&store, statement!("SELECT id FROM things")).await.len(), 1, "each step ran once");
}
