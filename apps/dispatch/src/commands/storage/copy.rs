//! Everything from one database into another: tables by their rows, then keys and values, then a comparison.

use super::refused;
use crate::failure::Failure;
use crate::running::{Threads, runtime};
use crate::settings::Loaded;
use dispatch_contracts::extension::Extension;
use dispatch_contracts::storage::{Keys, Record, Statement, Storage, StorageBackend, StorageError};
use ext_storage_postgres::contract::{DatabaseAddress, PostgresBackend, inspect as inspect_server};
use ext_storage_sqlite::contract::{Location, SqliteBackend, inspect, is_for_a_server};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;

/// How many rows are moved in one transaction.
const PAGE: usize = 500;

/// One table that was copied.
#[derive(Debug, Serialize)]
pub(super) struct CopiedTable {
    pub(super) table: String,
    pub(super) rows: u64,
}

/// What a database is to a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CopyRole {
    Source,
    Target,
}

/// The columns of each table.
type TableColumns = BTreeMap<String, Vec<String>>;

/// A database with all tables that this program knows.
pub(super) struct OpenedStorage {
    backend: Arc<dyn StorageBackend>,
    tables: TableColumns,
    namespaces: Vec<String>,
    url: String,
}

impl OpenedStorage {
    /// Opens a database; the extensions bring its tables up to date first.
    pub(super) fn open(
        loaded: &Loaded,
        extensions: &[Arc<dyn Extension>],
        url: &str,
        role: CopyRole,
    ) -> Result<Self, Failure> {
        if url == "memory:" {
            return Err(Failure::usage("`memory:` holds nothing that could be copied").hint("name a file or a server"));
        }
        if role == CopyRole::Source && !is_for_a_server(url) {
            let place = Location::parse(Some(url), &loaded.dirs.data).map_err(refused)?;
            if inspect(&place).path.is_none() {
                return Err(Failure::usage("there is no database to copy from").hint("check the first path"));
            }
        }
        if role == CopyRole::Target && was_used(loaded, url)? {
            return Err(Failure::usage("the second database is not empty").hint("copy into a new database"));
        }
        crate::running::Running::migrate_storage(loaded, extensions.to_vec(), url)?;
        let (backend, tables, namespaces): (Arc<dyn StorageBackend>, TableColumns, Vec<String>) =
            match is_for_a_server(url) {
                true => {
                    let opened =
                        DatabaseAddress::parse(url).and_then(|it| PostgresBackend::open(&it)).map_err(refused)?;
                    let (tables, namespaces) = opened.tables().map_err(refused)?;
                    (Arc::new(opened), tables, namespaces)
                }
                false => {
                    let place = Location::parse(Some(url), &loaded.dirs.data).map_err(refused)?;
                    let opened = SqliteBackend::open(&place).map_err(refused)?;
                    let listed = runtime(Threads::One)?.block_on(opened.tables());
                    let (tables, namespaces) = listed.map_err(refused)?;
                    (Arc::new(opened), tables, namespaces)
                }
            };
        Ok(Self { backend, tables, namespaces, url: url.split('?').next().unwrap_or_default().to_owned() })
    }

    /// A store that reaches every table.
    fn store(&self) -> Arc<dyn Storage> {
        let others: Vec<&str> = self.namespaces.iter().skip(1).map(String::as_str).collect();
        self.backend.open_joined(self.namespaces.first().map_or("", String::as_str), &others)
    }
}

/// Whether anything was ever kept there.
fn was_used(loaded: &Loaded, url: &str) -> Result<bool, Failure> {
    if is_for_a_server(url) {
        let state = DatabaseAddress::parse(url).and_then(|address| inspect_server(&address)).map_err(refused)?;
        return Ok(!state.namespaces.is_empty());
    }
    let place = Location::parse(Some(url), &loaded.dirs.data).map_err(refused)?;
    Ok(inspect(&place).path.is_some())
}

/// Copies and compares. The destination has to be empty.
pub(super) fn copy(from: &OpenedStorage, to: &OpenedStorage) -> Result<Vec<CopiedTable>, Failure> {
    if from.url == to.url {
        return Err(Failure::usage("both URLs name the same database").hint("name an empty one as the second"));
    }
    if from.tables != to.tables {
        return Err(Failure::internal("the databases have different tables").hint("open both with this version first"));
    }
    let runtime = runtime(Threads::One)?;
    runtime.block_on(async {
        let (source, target) = (from.store(), to.store());
        let mut copied = Vec::new();
        for (table, columns) in &from.tables {
            let rows = copy_table(&source, &target, table, columns).await.map_err(refused)?;
            copied.push(CopiedTable { table: table.clone(), rows });
        }
        let rows = copy_values(from, to).await.map_err(refused)?;
        copied.push(CopiedTable { table: "keys and values".to_owned(), rows });
        Ok(copied)
    })
}

async fn copy_table(
    source: &Arc<dyn Storage>,
    target: &Arc<dyn Storage>,
    table: &str,
    columns: &[String],
) -> Result<u64, StorageError> {
    // Migrations put rows into some tables.
    let clear = Statement::new(format!("DELETE FROM \"{table}\""), []);
    target.transact(Keys::Everything, Box::new(move |tx| tx.execute(&clear).map(|_| Vec::new()))).await?;
    let mut at = 0;
    loop {
        let rows = page(source.as_ref(), table, columns, at, PAGE).await?;
        if rows.is_empty() {
            break;
        }
        at += rows.len();
        let insert = insert(table, columns);
        let work = move |tx: &mut dyn dispatch_contracts::storage::Transaction| {
            for row in rows {
                tx.execute_later(Statement::new(insert.clone(), row))?;
            }
            Ok(Vec::new())
        };
        target.transact(Keys::Everything, Box::new(work)).await?;
    }
    compare(source.as_ref(), target.as_ref(), table, columns).await?;
    Ok(at as u64)
}

async fn compare(
    source: &dyn Storage,
    target: &dyn Storage,
    table: &str,
    columns: &[String],
) -> Result<(), StorageError> {
    let mut at = 0;
    loop {
        let rows = page(source, table, columns, at, PAGE).await?;
        if rows != page(target, table, columns, at, PAGE).await? {
            return Err(StorageError::Corrupt(format!("table `{table}` differs between row {at} and {}", at + PAGE)));
        }
        if rows.is_empty() {
            return Ok(());
        }
        at += rows.len();
    }
}

async fn page(
    store: &dyn Storage,
    table: &str,
    columns: &[String],
    from: usize,
    count: usize,
) -> Result<Vec<Record>, StorageError> {
    let names = quoted(columns);
    let sql = format!("SELECT {names} FROM \"{table}\" ORDER BY {names} LIMIT {count} OFFSET {from}");
    store.query(Statement::new(sql, [])).await
}

fn insert(table: &str, columns: &[String]) -> String {
    let places: Vec<String> = (1..=columns.len()).map(|at| format!("?{at}")).collect();
    format!("INSERT INTO \"{table}\" ({}) VALUES ({})", quoted(columns), places.join(", "))
}

fn quoted(columns: &[String]) -> String {
    columns.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ")
}

async fn copy_values(from: &OpenedStorage, to: &OpenedStorage) -> Result<u64, StorageError> {
    let mut count = 0;
    for namespace in &from.namespaces {
        let (source, target) = (from.backend.open(namespace), to.backend.open(namespace));
        for key in source.keys("").await? {
            let value = source.get(&key).await?;
            target.put(&key, value.clone()).await?;
            if target.get(&key).await? != value {
                return Err(StorageError::Corrupt(format!("a value of `{namespace}` differs")));
            }
            count += 1;
        }
    }
    Ok(count)
}
