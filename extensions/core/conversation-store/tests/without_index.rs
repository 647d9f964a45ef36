//! A database that cannot index words: the same ledger, searched by looking.

#![allow(clippy::disallowed_methods, reason = "tests set up and look at real files and processes")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "support/test_ledger.rs"]
mod test_ledger;

use dispatch_contracts::BoxFuture;
use dispatch_contracts::migration::Migration;
use dispatch_contracts::storage::{Keys, Record, Statement, Storage, StorageError, TransactionWork};
use ext_storage_sqlite::contract::{Location, SqliteBackend};
use std::sync::Arc;
use test_ledger::TestLedger;

/// A store that knows no function of SQLite's own.
struct Plain(Arc<dyn Storage>);

impl Storage for Plain {
    fn migrate(&self, migrations: Vec<Migration>) -> BoxFuture<'_, Result<(), StorageError>> {
        let portable = |step: &Migration| step.statements.iter().all(|text| !text.contains("fts5"));
        assert!(migrations.iter().all(portable), "{migrations:?}");
        self.0.migrate(migrations)
    }

    fn query(&self, statement: Statement) -> BoxFuture<'_, Result<Vec<Record>, StorageError>> {
        if ["sqlite_", "MATCH"].iter().any(|word| statement.sql.contains(word)) {
            let error = StorageError::Statement("no such function".to_owned());
            return Box::pin(std::future::ready(Err(error)));
        }
        self.0.query(statement)
    }

    fn transact(&self, keys: Keys, work: TransactionWork) -> BoxFuture<'_, Result<Vec<Record>, StorageError>> {
        self.0.transact(keys, work)
    }

    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<Vec<u8>>, StorageError>> {
        self.0.get(key)
    }

    fn put<'a>(&'a self, key: &'a str, value: Option<Vec<u8>>) -> BoxFuture<'a, Result<(), StorageError>> {
        self.0.put(key, value)
    }

    fn keys<'a>(&'a self, prefix: &'a str) -> BoxFuture<'a, Result<Vec<String>, StorageError>> {
        self.0.keys(prefix)
    }
}

#[test]
fn what_was_said_is_found_and_goes_with_its_session() {
    let backend = SqliteBackend::open(&Location::Memory).unwrap();
    let ledger = TestLedger::over(backend, |store| Arc::new(Plain(store)));
    let session = ledger.session("main");
    ledger.exchange(&session, "t1", "Where is the keyboard?", "Under the 100% table_top.");
    ledger.exchange(&session, "t2", "and the mouse", "there");
    let found = |question: &str| {
        let hits = ledger.run(ledger.conversations.search(question, 10)).unwrap();
        hits.into_iter().map(|hit| hit.turn.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(found("the"), ["t2", "t1"]);
    assert_eq!(found("KEYBOARD is"), ["t1"]);
    assert_eq!(found("100% table_top"), ["t1"]);
    assert!(found("1_0").is_empty(), "a pattern is taken by its letters");
    ledger.run(ledger.conversations.delete("main")).unwrap();
    assert!(found("the").is_empty());
}
