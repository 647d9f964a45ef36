//! A table belongs to the namespace whose migration made it.

use super::{change, notes, rows};
use dispatch_contracts::migration::Migration;
use dispatch_contracts::statement;
use dispatch_contracts::storage::{Keys, SqlValue, StorageBackend, StorageError};
use std::sync::Arc;

const OTHER: &[Migration] = &[Migration::new(1, "others", &["CREATE TABLE others (id INTEGER PRIMARY KEY)"])];

pub(super) async fn apart(backend: Arc<dyn StorageBackend>) {
    let a = notes(&backend, "a").await;
    let b = backend.open("b");
    b.migrate(OTHER.to_vec()).await.expect("a table can be made");
    change(&a, statement!("INSERT INTO notes (body) VALUES ('private')")).await.expect("it is its own table");
    // Compiled for its owner first, so that a backend that keeps compiled statements is caught.
    assert_eq!(rows(&a, statement!("SELECT body FROM notes")).await.len(), 1);
    for foreign in [
        "SELECT body FROM notes",
        "SELECT BODY FROM Notes",
        "SELECT COUNT(*) FROM notes",
        "SELECT 1 FROM others WHERE EXISTS (SELECT 1 FROM notes)",
        "WITH x AS (SELECT body FROM notes) SELECT * FROM x",
        "WITH x AS (SELECT COUNT(*) FROM notes) SELECT COUNT(*) FROM x",
        "SELECT o.id FROM others o JOIN notes n ON n.id = o.id",
        "SELECT id FROM others UNION SELECT id FROM notes",
    ] {
        let outcome = b.query(statement!(foreign)).await;
        assert!(matches!(outcome, Err(StorageError::Statement(_))), "{foreign}: {outcome:?}");
    }
    for own in [
        "WITH x AS (SELECT id FROM others) SELECT COUNT(*) FROM x",
        "WITH RECURSIVE x (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM x WHERE n < 3) SELECT COUNT(*) FROM x",
        "SELECT COUNT(*) FROM (SELECT id FROM others) AS x",
        "SELECT COUNT(*) FROM others",
    ] {
        assert_eq!(rows(&b, statement!(own)).await.len(), 1, "{own}");
    }
    for foreign in [
        "INSERT INTO notes (body) VALUES ('x')",
        "UPDATE notes SET body = 'x'",
        "DELETE FROM notes",
        "INSERT INTO others (id) SELECT id FROM notes",
    ] {
        let outcome = change(&b, statement!(foreign)).await;
        assert!(matches!(outcome, Err(StorageError::Statement(_))), "{foreign}: {outcome:?}");
    }
    assert_eq!(rows(&a, statement!("SELECT body FROM notes")).await, [[SqlValue::from("private")]]);
}

pub(super) async fn deleted(backend: Arc<dyn StorageBackend>) {
    let a = notes(&backend, "a").await;
    change(&a, statement!("INSERT INTO notes (body) VALUES ('gone')")).await.expect("it is its own table");
    a.put("key", Some(b"gone".to_vec())).await.expect("a value is kept");
    let b = backend.open("b");
    b.migrate(OTHER.to_vec()).await.expect("a table can be made");
    change(&b, statement!("INSERT INTO others (id) VALUES (1)")).await.expect("it is its own table");
    b.put("key", Some(b"kept".to_vec())).await.expect("a value is kept");
    assert_eq!(backend.delete_namespace("a").await, Ok(1));
    assert_eq!(backend.delete_namespace("a").await, Ok(0), "there is nothing left");
    assert!(a.query(statement!("SELECT body FROM notes")).await.is_err(), "its table is gone");
    assert_eq!(a.get("key").await, Ok(None));
    assert_eq!(rows(&b, statement!("SELECT id FROM others")).await.len(), 1, "others keep theirs");
    assert_eq!(b.get("key").await, Ok(Some(b"kept".to_vec())));
    let again = notes(&backend, "a").await;
    assert_eq!(rows(&again, statement!("SELECT body FROM notes")).await.len(), 0, "it begins anew");
}

pub(super) async fn joined(backend: Arc<dyn StorageBackend>) {
    let a = notes(&backend, "a").await;
    let both = backend.open_joined("b", &["a"]);
    both.migrate(OTHER.to_vec()).await.expect("migrations are those of the first namespace");
    let write = |end: Result<(), StorageError>| {
        both.transact(
            Keys::Everything,
            Box::new(move |tx| {
                tx.execute(&statement!("INSERT INTO notes (id, body) VALUES (5, 'x')"))?;
                tx.execute(&statement!("INSERT INTO others (id) VALUES (5)"))?;
                end.map(|()| Vec::new())
            }),
        )
    };
    write(Err(StorageError::GivenUp(String::new()))).await.expect_err("it gave up");
    assert!(rows(&a, statement!("SELECT id FROM notes")).await.is_empty(), "neither was written");
    write(Ok(())).await.expect("both are in reach");
    let joined = statement!("SELECT n.body FROM notes n JOIN others o ON o.id = n.id");
    assert_eq!(rows(&both, joined.clone()).await, [[SqlValue::from("x")]]);
    assert!(a.query(joined.clone()).await.is_err(), "and only from the joined store");
    assert!(backend.open("b").query(joined).await.is_err());
}

pub(super) async fn rows_only(backend: Arc<dyn StorageBackend>) {
    let store = notes(&backend, "a").await;
    for refused in [
        "CREATE TABLE more (id INTEGER)",
        "DROP TABLE notes",
        "ALTER TABLE notes ADD COLUMN more TEXT",
        "CREATE INDEX notes_body ON notes (body)",
        "BEGIN",
        "COMMIT",
        "ROLLBACK",
        "SAVEPOINT x",
    ] {
        let outcome = change(&store, statement!(refused)).await;
        assert!(matches!(outcome, Err(StorageError::Statement(_))), "{refused}: {outcome:?}");
    }
    change(&store, statement!("INSERT INTO notes (body) VALUES ('still there')")).await.expect("the table is there");
}

pub(super) async fn migrations_apart(backend: Arc<dyn StorageBackend>) {
    const STEPS: &[&[&str]] = &[
        &["DROP TABLE notes"],
        &["ALTER TABLE notes ADD COLUMN more TEXT"],
        &["CREATE INDEX foreign_index ON notes (body)"],
        &["CREATE TABLE copies AS SELECT * FROM notes"],
        &["DELETE FROM notes"],
        &["CREATE TABLE notes (id INTEGER)"],
    ];
    let a = notes(&backend, "a").await;
    change(&a, statement!("INSERT INTO notes (body) VALUES ('x')")).await.expect("it is its own table");
    let b = backend.open("b");
    for statements in STEPS {
        let outcome = b.migrate(vec![Migration::new(1, "foreign", statements)]).await;
        assert!(matches!(outcome, Err(StorageError::Migration(_))), "{statements:?}: {outcome:?}");
    }
    assert_eq!(rows(&a, statement!("SELECT body FROM notes")).await.len(), 1);
}
