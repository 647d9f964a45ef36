//! Deletes what a namespace has, in one transaction.

use crate::database::Database;
use crate::layout;
use dispatch_contracts::storage::{Record, SqlValue, StorageError};
use rusqlite::Connection;

/// The tables and views of a namespace with their kinds; those that SQLite keeps behind an index of words go with it.
const OWN: &str = "SELECT t.name, l.type FROM dispatch_tables t
    JOIN pragma_table_list l ON lower(l.name) = t.name AND l.schema = 'main' AND l.type <> 'shadow'
    WHERE t.namespace = ?1 ORDER BY l.type = 'table', t.name";

/// Drops the namespace's tables and takes it out of the backend's own. Answers the names of the tables.
pub(crate) fn delete_namespace(database: &Database, namespace: &str) -> Result<Vec<Record>, StorageError> {
    database.command("BEGIN IMMEDIATE")?;
    let deleted = delete(database.trusted(), namespace).map_err(|error| database.told(&error));
    let finished = deleted.and_then(|deleted| database.command("COMMIT").map(|()| deleted));
    if finished.is_err() {
        // Fails when there is nothing to take back, which is as good.
        _ = database.command("ROLLBACK");
    }
    database.refresh()?;
    finished
}

fn delete(connection: &Connection, namespace: &str) -> rusqlite::Result<Vec<Record>> {
    let mut statement = connection.prepare(OWN)?;
    let own = statement.query_map([namespace], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let own: Vec<(String, String)> = own.collect::<rusqlite::Result<_>>()?;
    for (name, kind) in &own {
        let kind = if kind == "view" { "VIEW" } else { "TABLE" };
        connection.execute_batch(&format!("DROP {kind} IF EXISTS \"{}\"", name.replace('"', "\"\"")))?;
    }
    for table in ["dispatch_tables", "dispatch_migrations", "dispatch_values"] {
        connection.execute(&format!("DELETE FROM {table} WHERE namespace = ?1"), [namespace])?;
    }
    layout::claim(connection, namespace)?;
    Ok(own.into_iter().map(|(name, _)| vec![SqlValue::Text(name)]).collect())
}
