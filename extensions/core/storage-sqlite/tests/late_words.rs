//! Rows are put into the index of words at the end of their transaction, whatever else it did.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "tests set up and look at real files")]

use dispatch_contracts::migration::Migration;
use dispatch_contracts::statement;
use dispatch_contracts::storage::{
    Columns as _, Keys, Storage, StorageBackend, StorageError, Transaction, WordIndex, WordSearch,
};
use ext_storage_sqlite::contract::{Location, SqliteBackend};
use rusqlite::{Connection, params};
use std::future::Future;
use std::sync::Arc;

const NOTES: &[Migration] = &[Migration::new(
    1,
    "notes",
    &["CREATE TABLE notes (number INTEGER PRIMARY KEY, body TEXT NOT NULL)", "CREATE WORD INDEX ON notes (body)"],
)];

fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

fn run(storage: &Arc<dyn Storage>, statements: &'static [&'static str]) -> Result<(), StorageError> {
    let work = move |tx: &mut dyn Transaction| {
        statements.iter().try_for_each(|sql| tx.execute(&statement!(*sql)).map(drop))?;
        Ok(Vec::new())
    };
    block_on(storage.transact(Keys::none(), Box::new(work))).map(drop)
}

/// The numbers of the notes with a word, the highest first.
fn found(storage: &Arc<dyn Storage>, word: &str) -> Vec<u64> {
    let search = WordSearch {
        index: WordIndex::on("notes", "body"),
        columns: vec!["number".to_owned()],
        question: word.to_owned(),
        limit: 100,
    };
    let rows = block_on(storage.search(search)).unwrap();
    rows.iter().map(|row| row.unsigned(0).unwrap()).collect()
}

const ADD: &str = "INSERT INTO notes (body) VALUES ('red')";

#[test]
fn a_row_is_found_whatever_else_its_transaction_did() {
    let storage = StorageBackend::open(&SqliteBackend::open(&Location::Memory).unwrap(), "notes");
    block_on(storage.migrate(NOTES.to_vec())).unwrap();
    run(&storage, &[ADD, ADD, "UPDATE notes SET body = 'blue' WHERE number = 2", ADD]).unwrap();
    assert_eq!((found(&storage, "red"), found(&storage, "blue")), (vec![3, 1], vec![2]));
    run(&storage, &["DELETE FROM notes WHERE number = 3", ADD, "DELETE FROM notes WHERE number = 1"]).unwrap();
    assert_eq!(found(&storage, "red"), [3]);
    run(&storage, &["INSERT INTO notes (number, body) VALUES (9, 'red')", ADD]).unwrap();
    run(&storage, &["INSERT INTO notes (number, body) VALUES (5, 'red')"]).unwrap();
    assert_eq!(found(&storage, "red"), [10, 9, 5, 3], "also one that is not behind the others");
    run(&storage, &[ADD, "INSERT INTO nothing VALUES (1)"]).unwrap_err();
    assert_eq!(found(&storage, "red"), [10, 9, 5, 3]);
}

#[test]
fn indexes_of_an_earlier_version_are_kept_in_step() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("dispatch.db");
    let open = || SqliteBackend::open(&Location::File(file.clone())).unwrap();
    let backend = open();
    block_on(StorageBackend::open(&backend, "notes").migrate(NOTES.to_vec())).unwrap();
    backend.close();
    let earlier = Connection::open(&file).unwrap();
    let rows = "CREATE TRIGGER notes_body_words_added AFTER INSERT ON notes BEGIN
         INSERT INTO notes_body_words (rowid, body) VALUES (new.rowid, new.body); END";
    earlier.execute_batch(&format!("DROP TRIGGER notes_body_words_added; {rows}")).unwrap();
    earlier.execute("INSERT INTO notes (body) VALUES (?1)", params!["red"]).unwrap();
    drop(earlier);
    let backend = open();
    let storage = StorageBackend::open(&backend, "notes");
    run(&storage, &["INSERT INTO notes (body) VALUES ('red')"]).unwrap();
    assert_eq!(found(&storage, "red"), [2, 1]);
    backend.close();
    let renewed = Connection::open(&file).unwrap();
    let trigger = "SELECT sql FROM sqlite_schema WHERE name = 'notes_body_words_added'";
    let trigger: String = renewed.query_row(trigger, [], |row| row.get(0)).unwrap();
    assert!(trigger.contains(" WHEN "), "{trigger}");
}
