//! The backend's own tables: which migrations were taken, whose each table is, and the keys and values.

use crate::connection::{ConnectionShared, OpenConnection};
use crate::contract::DatabaseAddress;
use crate::key_locks::lock_id;
use crate::sql::{RESERVED_PREFIX, TableOwner, TableOwners};
use dispatch_contracts::migration::{AppliedMigration, Migration};
use dispatch_contracts::storage::{Columns, Record, SqlValue, StorageError};
use dispatch_os::time::monotonic_ms;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The version of the tables below.
const LAYOUT: i64 = 1;
/// The oldest server that the statements are tested with.
const OLDEST_SERVER: i64 = 150_000;

const TABLES: &str = "
    CREATE TABLE dispatch_layout (version BIGINT PRIMARY KEY);
    INSERT INTO dispatch_layout (version) VALUES (1);
    CREATE TABLE dispatch_migrations (
        namespace TEXT COLLATE \"C\" NOT NULL, version BIGINT NOT NULL, name TEXT NOT NULL, checksum BIGINT NOT NULL,
        applied_at BIGINT NOT NULL, PRIMARY KEY (namespace, version));
    CREATE TABLE dispatch_tables (
        name TEXT COLLATE \"C\" PRIMARY KEY, namespace TEXT COLLATE \"C\" NOT NULL, number_column TEXT);
    CREATE TABLE dispatch_values (
        namespace TEXT COLLATE \"C\" NOT NULL, key BYTEA NOT NULL, value BYTEA NOT NULL, PRIMARY KEY (namespace, key));";

const OWN_TABLES: &str = "SELECT c.relname::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = current_schema() AND c.relkind IN ('r', 'p', 'v', 'm') ORDER BY 1";

/// The names of tables with each of their columns, in order.
pub(crate) const COLUMNS: &str = "SELECT t.name, a.attname::text FROM dispatch_tables t
    JOIN pg_attribute a ON a.attrelid = to_regclass(quote_ident(t.name)) AND a.attnum > 0 AND NOT a.attisdropped
    ORDER BY t.name, a.attnum";
/// All namespaces that have anything.
pub(crate) const NAMESPACES: &str =
    "SELECT namespace FROM dispatch_migrations UNION SELECT namespace FROM dispatch_values ORDER BY 1";

/// The last migration of each namespace.
pub(crate) const VERSIONS: &str = "SELECT namespace, max(version) FROM dispatch_migrations GROUP BY 1 ORDER BY 1";

/// What is known of a database without changing it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaState {
    /// The server, as it calls itself.
    pub server: String,
    /// The schema that the tables are in.
    pub schema: String,
    /// How long one question took, in microseconds.
    pub latency_us: u64,
    /// The last migration of each namespace; empty for a database that was never used.
    pub namespaces: BTreeMap<String, u32>,
}

/// Looks at a database; nothing is made.
///
/// # Errors
/// When it cannot be reached, or is not ours.
pub fn inspect(address: &DatabaseAddress) -> Result<SchemaState, StorageError> {
    let shared = Arc::new(ConnectionShared::new(address.clone())?);
    let mut open = OpenConnection::connect(&shared)?;
    let (schema, layout) = look(&mut open)?;
    let version = query(&mut open, "SELECT current_setting('server_version')", &[])?;
    let began = monotonic_ms();
    const ASKED: u64 = 20;
    for _ in 0..ASKED {
        query(&mut open, "SELECT 1", &[])?;
    }
    let latency_us = monotonic_ms().saturating_sub(began) * 1_000 / ASKED;
    let taken = match layout {
        0 => Vec::new(),
        _ => query(&mut open, VERSIONS, &[])?,
    };
    let server = version.first().map(|record| record.text(0).map(str::to_owned)).transpose()?.unwrap_or_default();
    Ok(SchemaState { server, schema, latency_us, namespaces: versions(&taken)? })
}

/// The answer to [`VERSIONS`].
pub(crate) fn versions(found: &[Record]) -> Result<BTreeMap<String, u32>, StorageError> {
    let version =
        |record: &Record| Ok((record.text(0)?.to_owned(), u32::try_from(record.unsigned(1)?).unwrap_or(u32::MAX)));
    found.iter().map(version).collect()
}

/// Makes a database ours. One of another program or of a newer version of this one is left as it is.
pub(crate) fn establish(open: &mut OpenConnection) -> Result<String, StorageError> {
    let (schema, layout) = look(open)?;
    if layout < LAYOUT {
        in_transaction(open, |open| {
            // Another process may be doing the same.
            let id = lock_id(&schema, "layout", "");
            open.batch(&format!("SELECT pg_advisory_xact_lock({id})"))?;
            if look(open)?.1 < LAYOUT { open.batch(TABLES) } else { Ok(()) }
        })?;
    }
    Ok(schema)
}

/// The schema that is in use and the version of our tables in it; 0 for an empty one.
fn look(open: &mut OpenConnection) -> Result<(String, i64), StorageError> {
    let about = "SELECT current_schema()::text, current_setting('server_version_num')::bigint, current_setting('server_encoding')";
    let about = query(open, about, &[])?;
    let record =
        about.first().ok_or_else(|| StorageError::Unwritable("the database does not tell its schema".to_owned()))?;
    let address = open.shared.address.to_string();
    let refused = |why: String| StorageError::Unwritable(format!("{address}: {why}"));
    let Some(schema) = record.optional_text(0)?.map(str::to_owned) else {
        return Err(refused("no schema of the search path exists; make one, or change `search_path`".to_owned()));
    };
    if record.integer(1)? < OLDEST_SERVER {
        return Err(refused("the server is older than PostgreSQL 15".to_owned()));
    }
    if record.text(2)? != "UTF8" {
        return Err(refused(
            "the database's encoding is not UTF8; make one with `createdb -E UTF8 -T template0`".to_owned(),
        ));
    }
    let tables = tables(open)?;
    if !tables.contains("dispatch_layout") {
        return match tables.first() {
            None => Ok((schema, 0)),
            Some(_) => Err(refused(format!(
                "schema `{schema}` belongs to another program; name an empty database in `storage.url`"
            ))),
        };
    }
    let layout = query(open, "SELECT max(version) FROM dispatch_layout", &[])?;
    let layout = layout.first().map(|record| record.integer(0)).transpose()?.unwrap_or_default();
    if layout > LAYOUT {
        let said = format!("its layout is {layout}, but this version knows only {LAYOUT}; use the newer version");
        return Err(StorageError::Migration(said));
    }
    Ok((schema, layout))
}

/// All tables and views of the schema.
fn tables(open: &mut OpenConnection) -> Result<BTreeSet<String>, StorageError> {
    query(open, OWN_TABLES, &[])?.iter().map(|record| record.text(0).map(str::to_owned)).collect()
}

/// Whose each table is.
pub(crate) fn owners(open: &mut OpenConnection) -> Result<TableOwners, StorageError> {
    let found = query(open, "SELECT name, namespace, number_column FROM dispatch_tables", &[])?;
    let owner = |record: &Record| {
        let number_column = record.optional_text(2)?.map(str::to_owned);
        Ok((record.text(0)?.to_owned(), TableOwner { namespace: record.text(1)?.to_owned(), number_column }))
    };
    found.iter().map(owner).collect()
}

/// Gives the tables that appeared to a namespace, and forgets those that are gone. A table that was renamed keeps the
/// column that numbers itself.
pub(crate) fn claim(
    open: &mut OpenConnection,
    namespace: &str,
    number_column: Option<&str>,
) -> Result<TableOwners, StorageError> {
    let present = tables(open)?;
    let mut owners = owners(open)?;
    let gone: Vec<String> = owners.keys().filter(|name| !present.contains(*name)).cloned().collect();
    let mut number_column = number_column.map(str::to_owned);
    for name in gone {
        query(open, "DELETE FROM dispatch_tables WHERE name = $1", &[SqlValue::from(&name)])?;
        number_column = number_column.or(owners.remove(&name).and_then(|owner| owner.number_column));
    }
    for name in present.iter().filter(|name| !name.starts_with(RESERVED_PREFIX)) {
        if !owners.contains_key(name) {
            let insert = "INSERT INTO dispatch_tables (name, namespace, number_column) VALUES ($1, $2, $3)";
            let values = [SqlValue::from(name), SqlValue::from(namespace), SqlValue::from(number_column.clone())];
            query(open, insert, &values)?;
            let owner = TableOwner { namespace: namespace.to_owned(), number_column: number_column.clone() };
            owners.insert(name.clone(), owner);
        }
    }
    Ok(owners)
}

/// The migrations that a namespace has taken.
pub(crate) fn applied(open: &mut OpenConnection, namespace: &str) -> Result<Vec<AppliedMigration>, StorageError> {
    let sql = "SELECT version, checksum FROM dispatch_migrations WHERE namespace = $1 ORDER BY version";
    let found = query(open, sql, &[SqlValue::from(namespace)])?;
    let step = |record: &Record| {
        let version = u32::try_from(record.unsigned(0)?).unwrap_or(u32::MAX);
        Ok(AppliedMigration { version, checksum: record.integer(1)?.cast_unsigned() })
    };
    found.iter().map(step).collect()
}

/// Writes down that a migration was taken.
pub(crate) fn record(open: &mut OpenConnection, namespace: &str, step: &Migration) -> Result<(), StorageError> {
    let sql = "INSERT INTO dispatch_migrations (namespace, version, name, checksum, applied_at)
        VALUES ($1, $2, $3, $4, (extract(epoch FROM clock_timestamp()) * 1000)::bigint)";
    let checksum = SqlValue::Integer(step.checksum().cast_signed());
    query(
        open,
        sql,
        &[SqlValue::from(namespace), SqlValue::from(step.version()), SqlValue::from(step.name()), checksum],
    )?;
    Ok(())
}

/// Runs a statement of the backend's own.
pub(crate) fn query(open: &mut OpenConnection, sql: &str, values: &[SqlValue]) -> Result<Vec<Record>, StorageError> {
    let ready = open.own(sql, values)?;
    open.rows(&ready)
}

/// Runs something of the backend's own in a transaction.
pub(crate) fn in_transaction<T>(
    open: &mut OpenConnection,
    work: impl FnOnce(&mut OpenConnection) -> Result<T, StorageError>,
) -> Result<T, StorageError> {
    open.batch(&open.begin_commands(dispatch_contracts::storage::Durability::Disk))?;
    match work(open) {
        Ok(value) => open.batch("COMMIT").map(|()| value),
        Err(error) => {
            // Fails only with the connection, which rolls back as well.
            _ = open.batch("ROLLBACK");
            Err(error)
        }
    }
}
