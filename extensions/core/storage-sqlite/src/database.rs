//! One connection with its guard: opened the same way everywhere, running statements for whoever asks.

use crate::error::translate;
use crate::guard::{GuardMode, NamespaceScope, TableGuard};
use crate::late_words::LateWords;
use crate::layout;
use crate::resolved_location::ResolvedLocation;
use dispatch_contracts::storage::{Durability, Record, SqlValue, Statement, StorageError};
use dispatch_os::time::monotonic_ms;
use rusqlite::config::DbConfig;
use rusqlite::hooks::Wal;
use rusqlite::limits::Limit;
use rusqlite::types::{ToSqlOutput, Value, ValueRef};
use rusqlite::{CachedStatement, Connection, OpenFlags, ToSql};
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::time::Duration;

/// How long to wait for another process that writes.
pub(crate) const BUSY_WAIT: Duration = Duration::from_secs(5);
/// The longest that one statement may run: it holds up everybody behind it.
pub(crate) const STATEMENT_LIMIT_MS: u64 = 60_000;
/// The most that one query may give.
pub(crate) const MAX_RESULT_BYTES: usize = 256 * 1024 * 1024;

const STEPS_BETWEEN_CHECKS: i32 = 100_000;
const NO_DEADLINE: u64 = u64::MAX;
const CACHED_STATEMENTS: usize = 128;
const WRITER_CACHE_KIB: i64 = 2048;
const READER_CACHE_KIB: i64 = 512;
/// The log shrinks to this after it was folded into the file.
const LOG_LIMIT_BYTES: i64 = 16 * 1024 * 1024;

/// A log of so many pages is folded into the file as soon as nobody waits.
const LONG_LOG_PAGES: i32 = 1000;
/// A log of so many pages is folded whoever waits.
const FULL_LOG_PAGES: i32 = 4000;

/// What a connection is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConnectionPurpose {
    /// Reads and writes.
    Write,
    /// Reads.
    Read,
}

/// A guarded connection.
pub(crate) struct Database {
    pub(crate) connection: Connection,
    pub(crate) guard: TableGuard,
    pub(crate) place: ResolvedLocation,
    /// How long one statement may run.
    pub(crate) statement_limit_ms: Cell<u64>,
    deadline: Arc<AtomicU64>,
    schema: Cell<Option<i64>>,
    durability: Cell<Durability>,
    log_pages: Arc<AtomicI32>,
    /// Only where rows are added.
    words: Option<LateWords>,
}

impl Database {
    /// Opens the place. A file is there already; it may be empty.
    pub(crate) fn open(place: &ResolvedLocation, purpose: ConnectionPurpose) -> Result<Self, StorageError> {
        let told = |error| translate(place, &error);
        let mut connection = connect(place, purpose).map_err(told)?;
        configure(&connection, purpose).map_err(told)?;
        let deadline = Arc::new(AtomicU64::new(NO_DEADLINE));
        let watched = Arc::clone(&deadline);
        connection
            .progress_handler(STEPS_BETWEEN_CHECKS, Some(move || monotonic_ms() > watched.load(Ordering::Relaxed)))
            .map_err(told)?;
        let guard = TableGuard::post(&mut connection).map_err(told)?;
        let log_pages = Arc::new(AtomicI32::new(0));
        let mut words = None;
        if purpose == ConnectionPurpose::Write {
            // This also keeps SQLite from folding the log within a commit.
            let counted = Arc::clone(&log_pages);
            let count = move |_: &mut Wal, pages| {
                counted.store(pages, Ordering::Relaxed);
                Ok(())
            };
            connection.wal_hook(Some(count)).map_err(told)?;
            words = Some(LateWords::watch(&mut connection).map_err(told)?);
        }
        Ok(Self {
            connection,
            guard,
            place: place.clone(),
            statement_limit_ms: Cell::new(STATEMENT_LIMIT_MS),
            deadline,
            schema: Cell::new(None),
            durability: Cell::new(Durability::Disk),
            log_pages,
            words,
        })
    }

    /// How durable the next commits are. Not within a transaction.
    pub(crate) fn set_durability(&self, durability: Durability) -> Result<(), StorageError> {
        if self.durability.get() == durability {
            return Ok(());
        }
        self.command(match durability {
            Durability::Process => "PRAGMA synchronous = NORMAL",
            Durability::Disk => "PRAGMA synchronous = FULL",
        })?;
        self.durability.set(durability);
        Ok(())
    }

    pub(crate) fn has_long_log(&self) -> bool {
        self.log_pages.load(Ordering::Relaxed) >= LONG_LOG_PAGES
    }

    pub(crate) fn has_full_log(&self) -> bool {
        self.log_pages.load(Ordering::Relaxed) >= FULL_LOG_PAGES
    }

    /// Folds the log into the file as far as no reader needs it. If that fails, it is tried again after the next commit.
    pub(crate) fn fold_log(&self) {
        self.log_pages.store(0, Ordering::Relaxed);
        _ = self.command("PRAGMA wal_checkpoint(PASSIVE)");
    }

    /// Gives back what work has filled: compiled statements and pages. What cannot go now goes after the next work.
    pub(crate) fn shrink(&self) {
        self.connection.flush_prepared_statement_cache();
        _ = self.trusted().execute_batch("PRAGMA shrink_memory");
    }

    /// The connection for statements of the backend itself.
    pub(crate) fn trusted(&self) -> &Connection {
        self.guard.serve(GuardMode::Trusted);
        &self.connection
    }

    /// Runs a statement of the backend itself whose result nobody needs.
    pub(crate) fn command(&self, sql: &str) -> Result<(), StorageError> {
        let run = || -> rusqlite::Result<()> {
            let mut prepared = self.trusted().prepare_cached(sql)?;
            let mut rows = prepared.raw_query();
            while rows.next()?.is_some() {}
            Ok(())
        };
        run().map_err(|error| self.told(&error))
    }

    /// Learns anew whose the tables are, if the tables have changed.
    pub(crate) fn refresh(&self) -> Result<(), StorageError> {
        let told = |error| self.told(&error);
        let version: i64 = self
            .trusted()
            .prepare_cached("PRAGMA schema_version")
            .and_then(|mut statement| statement.query_row([], |row| row.get(0)))
            .map_err(told)?;
        if self.schema.get() != Some(version) {
            self.guard.learn(layout::owners(&self.connection).map_err(told)?);
            if let Some(words) = &self.words {
                words.learn(&self.connection).map_err(told)?;
            }
            self.schema.set(Some(version));
        }
        Ok(())
    }

    /// Puts the rows that the transaction under way added into the indexes of words.
    pub(crate) fn index_words(&self) -> Result<(), StorageError> {
        self.words.as_ref().map_or(Ok(()), |words| words.catch_up(self))
    }

    /// Runs a statement for a store; gives the number of rows it changed.
    pub(crate) fn execute(&self, scope: &Arc<NamespaceScope>, statement: &Statement) -> Result<u64, StorageError> {
        self.run(scope, statement, |database, prepared| {
            let mut rows = prepared.raw_query();
            while rows.next().map_err(|error| database.told(&error))?.is_some() {}
            drop(rows);
            // A statement that changes nothing leaves the count of the one before.
            Ok(if prepared.readonly() { 0 } else { database.connection.changes() })
        })
    }

    /// Runs a query for a store outside a transaction, where nothing may be changed.
    pub(crate) fn look(&self, scope: &Arc<NamespaceScope>, statement: &Statement) -> Result<Vec<Record>, StorageError> {
        self.run(scope, statement, |database, prepared| {
            if !prepared.readonly() {
                return Err(StorageError::Statement("it changes something; use a transaction".to_owned()));
            }
            database.read_all(prepared)
        })
    }

    /// Runs a query for a store in a transaction.
    pub(crate) fn query(
        &self,
        scope: &Arc<NamespaceScope>,
        statement: &Statement,
    ) -> Result<Vec<Record>, StorageError> {
        self.run(scope, statement, |database, prepared| database.read_all(prepared))
    }

    pub(crate) fn told(&self, error: &rusqlite::Error) -> StorageError {
        match (error.sqlite_error_code(), self.guard.take_refusal()) {
            (Some(rusqlite::ErrorCode::AuthorizationForStatementDenied), Some(why)) => StorageError::Statement(why),
            (Some(rusqlite::ErrorCode::OperationInterrupted), _) => {
                StorageError::Statement(format!("timed out after {} ms", self.statement_limit_ms.get()))
            }
            _ => translate(&self.place, error),
        }
    }

    fn run<T>(
        &self,
        scope: &Arc<NamespaceScope>,
        statement: &Statement,
        work: impl FnOnce(&Self, &mut CachedStatement<'_>) -> Result<T, StorageError>,
    ) -> Result<T, StorageError> {
        self.guard.serve(GuardMode::Scoped(Arc::clone(scope)));
        self.deadline.store(monotonic_ms().saturating_add(self.statement_limit_ms.get()), Ordering::Relaxed);
        let outcome = self.prepare(scope, statement).and_then(|mut prepared| work(self, &mut prepared));
        self.deadline.store(NO_DEADLINE, Ordering::Relaxed);
        outcome
    }

    fn prepare(&self, scope: &NamespaceScope, statement: &Statement) -> Result<CachedStatement<'_>, StorageError> {
        let told = |error| self.told(&error);
        let text = format!("{}{}", scope.mark, statement.sql);
        let mut prepared = self.connection.prepare_cached(&text).map_err(told)?;
        let (wanted, given) = (prepared.parameter_count(), statement.parameters.len());
        if wanted != given {
            let said = format!("it has {wanted} parameters, and {given} values were given");
            return Err(StorageError::Statement(said));
        }
        for (index, value) in (1..).zip(&statement.parameters) {
            prepared.raw_bind_parameter(index, BoundValue(value)).map_err(told)?;
        }
        Ok(prepared)
    }

    fn read_all(&self, prepared: &mut CachedStatement<'_>) -> Result<Vec<Record>, StorageError> {
        let columns = prepared.column_count();
        let mut records = Vec::new();
        let mut bytes = 0;
        let mut rows = prepared.raw_query();
        while let Some(row) = rows.next().map_err(|error| self.told(&error))? {
            let mut record = Vec::with_capacity(columns);
            for column in 0..columns {
                let value = read(row.get_ref(column).map_err(|error| self.told(&error))?, column)?;
                bytes += size(&value);
                record.push(value);
            }
            if bytes > MAX_RESULT_BYTES {
                let said = format!("the result is larger than {MAX_RESULT_BYTES} bytes; ask for less with LIMIT");
                return Err(StorageError::Statement(said));
            }
            records.push(record);
        }
        Ok(records)
    }
}

fn connect(place: &ResolvedLocation, purpose: ConnectionPurpose) -> rusqlite::Result<Connection> {
    let ResolvedLocation::File(path) = place else { return Connection::open_in_memory() };
    let access = match purpose {
        ConnectionPurpose::Write => OpenFlags::SQLITE_OPEN_READ_WRITE,
        ConnectionPurpose::Read => OpenFlags::SQLITE_OPEN_READ_ONLY,
    };
    let flags = access | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    Connection::open_with_flags(path, flags)
}

fn configure(connection: &Connection, purpose: ConnectionPurpose) -> rusqlite::Result<()> {
    connection.busy_timeout(BUSY_WAIT)?;
    connection.set_prepared_statement_cache_capacity(CACHED_STATEMENTS);
    connection.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    // Text in double quotes is a name, as in other databases, never a value.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DQS_DML, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DQS_DDL, false)?;
    // A plan does not depend on the values of parameters. Otherwise some statements are compiled again at each use.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    // Sorting never fills the disk behind the user's back.
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    match purpose {
        ConnectionPurpose::Write => {
            connection.pragma_update(None, "synchronous", "FULL")?;
            connection.pragma_update(None, "journal_size_limit", LOG_LIMIT_BYTES)?;
            connection.pragma_update(None, "cache_size", -WRITER_CACHE_KIB)
        }
        ConnectionPurpose::Read => connection.pragma_update(None, "cache_size", -READER_CACHE_KIB),
    }
}

struct BoundValue<'a>(&'a SqlValue);

impl ToSql for BoundValue<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self.0 {
            SqlValue::Null => ToSqlOutput::Owned(Value::Null),
            SqlValue::Integer(value) => ToSqlOutput::Owned(Value::Integer(*value)),
            SqlValue::Real(value) => ToSqlOutput::Owned(Value::Real(*value)),
            SqlValue::Text(value) => ToSqlOutput::Borrowed(ValueRef::Text(value.as_bytes())),
            SqlValue::Blob(value) => ToSqlOutput::Borrowed(ValueRef::Blob(value)),
        })
    }
}

fn read(value: ValueRef<'_>, column: usize) -> Result<SqlValue, StorageError> {
    Ok(match value {
        ValueRef::Null => SqlValue::Null,
        ValueRef::Integer(value) => SqlValue::Integer(value),
        ValueRef::Real(value) => SqlValue::Real(value),
        ValueRef::Blob(value) => SqlValue::Blob(value.to_vec()),
        ValueRef::Text(value) => match std::str::from_utf8(value) {
            Ok(text) => SqlValue::Text(text.to_owned()),
            Err(_) => return Err(StorageError::Statement(format!("column {column} holds text that is not UTF-8"))),
        },
    })
}

fn size(value: &SqlValue) -> usize {
    let held = match value {
        SqlValue::Text(text) => text.len(),
        SqlValue::Blob(bytes) => bytes.len(),
        SqlValue::Null | SqlValue::Integer(_) | SqlValue::Real(_) => 0,
    };
    held + size_of::<SqlValue>()
}
