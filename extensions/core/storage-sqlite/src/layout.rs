//! The backend's own tables: which migrations were taken, whose each table is, and the keys and values.

use crate::database::Database;
use crate::guard::RESERVED_PREFIX;
use crate::resolved_location::ResolvedLocation;
use crate::writer::DatabaseJob;
use dispatch_contracts::migration::{AppliedMigration, Migration};
use dispatch_contracts::storage::{Record, SqlValue, StorageError};
use rusqlite::{Connection, params};
use std::collections::{BTreeMap, BTreeSet};

/// The version of the tables below, in the header of the file.
const LAYOUT: i64 = 1;

const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS dispatch_migrations (
        namespace TEXT NOT NULL, version INTEGER NOT NULL, name TEXT NOT NULL, checksum INTEGER NOT NULL,
        applied_at INTEGER NOT NULL, PRIMARY KEY (namespace, version));
    CREATE TABLE IF NOT EXISTS dispatch_tables (name TEXT PRIMARY KEY, namespace TEXT NOT NULL);
    CREATE TABLE IF NOT EXISTS dispatch_values (
        namespace TEXT NOT NULL, key BLOB NOT NULL, value BLOB NOT NULL, PRIMARY KEY (namespace, key));
    PRAGMA user_version = 1;";

/// Whether the data was there before this program came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FoundDatabase {
    /// Nothing was there.
    New,
    /// Tables were there.
    Existing,
}

/// Makes an opened database ours: the write-ahead log, and the tables above. A file of another program
/// or of a newer version of this one is left as it is.
pub(crate) fn establish(database: &Database) -> Result<FoundDatabase, StorageError> {
    let told = |error| database.told(&error);
    let connection = database.trusted();
    let (layout, tables) = look(connection).map_err(told)?;
    if layout > LAYOUT {
        let said = format!("its layout is {layout}, but this version knows only {LAYOUT}; use the newer version");
        return Err(StorageError::Migration(said));
    }
    if layout == 0 && tables.iter().any(|table| !table.starts_with(RESERVED_PREFIX)) {
        return Err(StorageError::Unwritable(format!(
            "{} belongs to another program; name another file in `storage.url`",
            database.place.path().map(|path| path.display().to_string()).unwrap_or_default()
        )));
    }
    if matches!(database.place, ResolvedLocation::File(_)) {
        keep_log(connection).map_err(told)?;
    }
    if layout < LAYOUT {
        connection.execute_batch(&format!("BEGIN IMMEDIATE; {TABLES} COMMIT;")).map_err(|error| {
            let error = database.told(&error);
            // Fails when there is nothing to take back, which is as good.
            _ = connection.execute_batch("ROLLBACK");
            error
        })?;
    }
    Ok(if layout == 0 { FoundDatabase::New } else { FoundDatabase::Existing })
}

/// A file system that cannot share memory between processes cannot keep a write-ahead log.
fn keep_log(connection: &Connection) -> rusqlite::Result<()> {
    let mode: String = connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))?;
    if mode == "wal" {
        return Ok(());
    }
    let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CANTOPEN);
    let said = "this file system cannot hold a write-ahead log; name a file on a local disk in `storage.url`";
    Err(rusqlite::Error::SqliteFailure(code, Some(said.to_owned())))
}

/// Both from one moment: another process may be making its tables, and half of that looks like another program's file.
fn look(connection: &Connection) -> rusqlite::Result<(i64, BTreeSet<String>)> {
    let moment = connection.unchecked_transaction()?;
    let layout = moment.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    let tables = tables(&moment)?;
    moment.commit()?;
    Ok((layout, tables))
}

/// All tables and views, in lower case, but SQLite's own.
fn tables(connection: &Connection) -> rusqlite::Result<BTreeSet<String>> {
    let mut statement = connection.prepare(
        "SELECT lower(name) FROM sqlite_schema WHERE type IN ('table', 'view') AND substr(name, 1, 7) <> 'sqlite_'",
    )?;
    let names = statement.query_map([], |row| row.get(0))?;
    names.collect()
}

/// The names of tables with each of their columns, in order.
pub(crate) fn columns() -> DatabaseJob {
    texts(
        "SELECT t.name, c.name FROM dispatch_tables t
         JOIN pragma_table_list l ON l.name = t.name AND l.schema = 'main' AND l.type = 'table'
         JOIN pragma_table_info(t.name) c ORDER BY t.name, c.cid",
    )
}

/// All namespaces that have anything.
pub(crate) fn namespaces() -> DatabaseJob {
    texts("SELECT namespace FROM dispatch_migrations UNION SELECT namespace FROM dispatch_values ORDER BY 1")
}

/// The last migration of each namespace, as text.
pub(crate) fn versions() -> DatabaseJob {
    texts("SELECT namespace, CAST(MAX(version) AS TEXT) FROM dispatch_migrations GROUP BY namespace")
}

fn texts(sql: &'static str) -> DatabaseJob {
    Box::new(move |database| {
        let read = || -> rusqlite::Result<Vec<Record>> {
            let mut statement = database.trusted().prepare(sql)?;
            let count = statement.column_count();
            let rows = statement.query_map([], |row| {
                (0..count).map(|at| row.get(at).map(SqlValue::Text)).collect::<rusqlite::Result<Record>>()
            })?;
            rows.collect()
        };
        read().map_err(|error| database.told(&error))
    })
}

/// Whose each table is.
pub(crate) fn owners(connection: &Connection) -> rusqlite::Result<BTreeMap<String, String>> {
    let mut statement = connection.prepare("SELECT name, namespace FROM dispatch_tables")?;
    let owners = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    owners.collect()
}

/// Gives the tables that appeared to a namespace, and forgets those that are gone.
pub(crate) fn claim(connection: &Connection, namespace: &str) -> rusqlite::Result<BTreeMap<String, String>> {
    let present = tables(connection)?;
    let mut owners = owners(connection)?;
    for name in present.iter().filter(|name| !name.starts_with(RESERVED_PREFIX)) {
        if !owners.contains_key(name) {
            connection.execute("INSERT INTO dispatch_tables (name, namespace) VALUES (?1, ?2)", [name, namespace])?;
            owners.insert(name.clone(), namespace.to_owned());
        }
    }
    let gone: Vec<String> = owners.keys().filter(|name| !present.contains(*name)).cloned().collect();
    for name in gone {
        connection.execute("DELETE FROM dispatch_tables WHERE name = ?1", [&name])?;
        owners.remove(&name);
    }
    Ok(owners)
}

/// The migrations that a namespace has taken.
pub(crate) fn applied(connection: &Connection, namespace: &str) -> rusqlite::Result<Vec<AppliedMigration>> {
    let mut statement = connection
        .prepare("SELECT version, checksum FROM dispatch_migrations WHERE namespace = ?1 ORDER BY version")?;
    let steps = statement.query_map([namespace], |row| {
        let checksum: i64 = row.get(1)?;
        Ok(AppliedMigration { version: row.get(0)?, checksum: checksum.cast_unsigned() })
    })?;
    steps.collect()
}

/// Writes down that a migration was taken.
pub(crate) fn record(connection: &Connection, namespace: &str, step: &Migration, now_ms: i64) -> rusqlite::Result<()> {
    connection.execute(
        "INSERT INTO dispatch_migrations (namespace, version, name, checksum, applied_at) VALUES (?1, ?2, ?3, ?4, ?5)",
        params![namespace, step.version(), step.name(), step.checksum().cast_signed(), now_ms],
    )?;
    Ok(())
}
