//! Storage: SQL in a portable subset plus keys and values, behind one interface.
//!
//! The subset: `?1`-style parameters, `INTEGER`, `REAL`, `TEXT` and `BLOB` columns, `INSERT ... ON
//! CONFLICT`, `RETURNING`, `WITH RECURSIVE`. A column `INTEGER PRIMARY KEY` that an `INSERT` leaves
//! out gets the next number. A table belongs to the namespace whose migration made it, and a store
//! reaches the tables of its own namespaces only; tables are made and changed by migrations alone. `CREATE WORD INDEX ON
//! table (column)` declares an index that [`Storage::search`] asks.
//!
//! A transaction names what it works on ([`Keys`]). Whatever it reads to decide what to write is covered by a key that
//! it holds.

mod keys;
mod statement;
mod words;

pub use keys::{HeldKeys, Keys};
pub use statement::Columns;
pub use words::{WordIndex, WordSearch};

use crate::BoxFuture;
use crate::migration::Migration;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A value of a column or a parameter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum SqlValue {
    /// No value.
    Null,
    /// A whole number.
    Integer(i64),
    /// A number.
    Real(f64),
    /// Text.
    Text(String),
    /// Bytes.
    Blob(Vec<u8>),
}

/// A statement with its parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// The text.
    pub sql: String,
    /// `?1`, `?2`, ... in order.
    pub parameters: Vec<SqlValue>,
}

/// One row of a result, in column order.
pub type Record = Vec<SqlValue>;

/// Why storage did not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StorageError {
    /// A constraint said no: the row is there already, or what it names is not.
    #[error("constraint violated: {0}")]
    Constraint(String),
    /// Another process holds the data for longer than the wait allows.
    #[error("the database is busy")]
    Busy,
    /// The database's server does not answer. A change that was asked for meanwhile may have happened.
    #[error("the database cannot be reached: {0}")]
    Unreachable(String),
    /// No room, or read-only.
    #[error("the database cannot be written: {0}")]
    Unwritable(String),
    /// The file is damaged.
    #[error("the database is damaged: {0}")]
    Corrupt(String),
    /// The declared migrations do not fit what the database has been through.
    #[error("the database cannot be migrated: {0}")]
    Migration(String),
    /// The statement is wrong.
    #[error("the statement failed: {0}")]
    Statement(String),
    /// The work itself gave up; everything was rolled back.
    #[error("the transaction was aborted: {0}")]
    GivenUp(String),
}

/// A running transaction; everything in it happens, or nothing.
pub trait Transaction {
    /// Runs a statement; returns how many rows it changed.
    fn execute(&mut self, statement: &Statement) -> Result<u64, StorageError>;
    /// Runs a statement whose count nobody needs. It may be under way when this returns; its failure is told by a later
    /// statement or by the end of the transaction then, and nothing of the transaction happens.
    fn execute_later(&mut self, statement: Statement) -> Result<(), StorageError> {
        self.execute(&statement).map(drop)
    }
    /// Runs a query.
    fn query(&mut self, statement: &Statement) -> Result<Vec<Record>, StorageError>;
    /// Takes one more key and waits for it. It stands behind every key that was waited for so far, in the order of
    /// text; a later query sees what the former holder wrote.
    fn lock(&mut self, key: &str) -> Result<(), StorageError>;
    /// Takes one more key if it is free; answers whether it is held now. Does not wait.
    fn try_lock(&mut self, key: &str) -> Result<bool, StorageError>;
}

/// What a transaction outlives once it is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Durability {
    /// The process, not a power cut, until a later transaction reaches the disk. It does not wait for the disk, which
    /// can take a tenth of a second: for what can be found out again.
    Process,
    /// A power cut.
    Disk,
}

/// Work for one transaction. An error rolls back.
pub type TransactionWork = Box<dyn FnOnce(&mut dyn Transaction) -> Result<Vec<Record>, StorageError> + Send>;

/// A store, scoped to one extension by the host.
pub trait Storage: Send + Sync {
    /// Brings the namespace's tables up to date. Steps that were taken before are checked, not repeated.
    fn migrate(&self, migrations: Vec<Migration>) -> BoxFuture<'_, Result<(), StorageError>>;
    /// Runs one query outside a transaction.
    fn query(&self, statement: Statement) -> BoxFuture<'_, Result<Vec<Record>, StorageError>>;
    /// Finds rows by the words in their text, in an index that a migration declared.
    fn search(&self, search: WordSearch) -> BoxFuture<'_, Result<Vec<Record>, StorageError>> {
        let said = format!("there is no index of words `{}`", search.index.name());
        Box::pin(std::future::ready(Err(StorageError::Statement(said))))
    }
    /// Runs work in one durable transaction that holds these keys.
    fn transact(&self, keys: Keys, work: TransactionWork) -> BoxFuture<'_, Result<Vec<Record>, StorageError>>;
    /// The same, durable at least as far as is asked for.
    fn transact_with(
        &self,
        keys: Keys,
        durability: Durability,
        work: TransactionWork,
    ) -> BoxFuture<'_, Result<Vec<Record>, StorageError>> {
        _ = durability;
        self.transact(keys, work)
    }
    /// Reads a value by key.
    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<Vec<u8>>, StorageError>>;
    /// Writes a value by key; `None` removes it.
    fn put<'a>(&'a self, key: &'a str, value: Option<Vec<u8>>) -> BoxFuture<'a, Result<(), StorageError>>;
    /// The keys that start with a prefix, in order.
    fn keys<'a>(&'a self, prefix: &'a str) -> BoxFuture<'a, Result<Vec<String>, StorageError>>;
    /// The time in Unix milliseconds by the database's own clock, where it has one; see [`StorageBackend::now_ms`].
    fn now_ms(&self) -> Option<u64> {
        None
    }
}

/// What a storage extension provides: a store per namespace.
pub trait StorageBackend: Send + Sync {
    /// The store of one namespace.
    fn open(&self, namespace: &str) -> Arc<dyn Storage>;
    /// A store that also reaches the tables of other namespaces, so that one transaction spans them.
    /// Keys and migrations are those of the first namespace.
    fn open_joined(&self, namespace: &str, others: &[&str]) -> Arc<dyn Storage>;
    /// Deletes everything of a namespace: its tables, its keys and the record of its migrations. Answers how many tables
    /// there were.
    fn delete_namespace<'a>(&'a self, namespace: &'a str) -> BoxFuture<'a, Result<usize, StorageError>> {
        let said = format!("this database cannot delete what `{namespace}` stored");
        Box::pin(std::future::ready(Err(StorageError::Unwritable(said))))
    }
    /// The last migration that each namespace has taken.
    fn versions(&self) -> BoxFuture<'_, Result<BTreeMap<String, u32>, StorageError>> {
        Box::pin(std::future::ready(Ok(BTreeMap::new())))
    }
    /// The time in Unix milliseconds by the database's own clock, where it has one: what processes on several machines
    /// compare leases with.
    fn now_ms(&self) -> Option<u64> {
        None
    }
    /// Tells the processes that use this database that something of a topic changed, where the database can. A hint
    /// that may be lost: whoever waits for a change looks for it at intervals too.
    fn announce(&self, topic: &str) {
        _ = topic;
    }
    /// Hears the topics that are announced, by this process and by others.
    fn listen(&self, heard: Box<dyn Fn(&str) + Send + Sync>) {
        drop(heard);
    }
}
