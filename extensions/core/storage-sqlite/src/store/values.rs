//! Keys and values of a namespace, in a table of the backend's own. Keys are kept as bytes: they sort
//! and compare the same everywhere, null characters included.

use crate::writer::DatabaseJob;
use dispatch_contracts::storage::{Record, SqlValue, StorageError};
use rusqlite::params;

/// The longest key.
const MAX_KEY_BYTES: usize = 1024;

pub(super) fn get(namespace: String, key: &str) -> DatabaseJob {
    let key = key.as_bytes().to_vec();
    Box::new(move |database| {
        let read = || -> rusqlite::Result<Vec<Record>> {
            let sql = "SELECT value FROM dispatch_values WHERE namespace = ?1 AND key = ?2";
            let mut statement = database.trusted().prepare_cached(sql)?;
            let values = statement.query_map(params![namespace, key], |row| Ok(vec![SqlValue::Blob(row.get(0)?)]))?;
            values.collect()
        };
        read().map_err(|error| database.told(&error))
    })
}

pub(super) fn put(namespace: String, key: &str, value: Option<Vec<u8>>) -> Result<DatabaseJob, StorageError> {
    if key.len() > MAX_KEY_BYTES {
        let said = format!("a key has at most {MAX_KEY_BYTES} bytes, and this one has {}", key.len());
        return Err(StorageError::Statement(said));
    }
    let key = key.as_bytes().to_vec();
    Ok(Box::new(move |database| {
        let connection = database.trusted();
        let written = match value {
            Some(value) => connection
                .prepare_cached(
                    "INSERT INTO dispatch_values (namespace, key, value) VALUES (?1, ?2, ?3)
                     ON CONFLICT (namespace, key) DO UPDATE SET value = excluded.value",
                )
                .and_then(|mut statement| statement.execute(params![namespace, key, value])),
            None => connection
                .prepare_cached("DELETE FROM dispatch_values WHERE namespace = ?1 AND key = ?2")
                .and_then(|mut statement| statement.execute(params![namespace, key])),
        };
        written.map(|_| Vec::new()).map_err(|error| database.told(&error))
    }))
}

pub(super) fn keys(namespace: String, prefix: &str) -> DatabaseJob {
    let first = prefix.as_bytes().to_vec();
    let behind = behind(&first);
    Box::new(move |database| {
        let read = || -> rusqlite::Result<Vec<Record>> {
            let sql = "SELECT key FROM dispatch_values
                       WHERE namespace = ?1 AND key >= ?2 AND (?3 IS NULL OR key < ?3) ORDER BY key";
            let mut statement = database.trusted().prepare_cached(sql)?;
            let keys =
                statement.query_map(params![namespace, first, behind], |row| Ok(vec![SqlValue::Blob(row.get(0)?)]))?;
            keys.collect()
        };
        read().map_err(|error| database.told(&error))
    })
}

/// The first bytes behind all that start with the prefix; none behind the empty prefix. The last byte
/// can always be counted up: UTF-8 has no 0xFF.
fn behind(prefix: &[u8]) -> Option<Vec<u8>> {
    let mut behind = prefix.to_vec();
    let last = behind.last_mut()?;
    *last = last.saturating_add(1);
    Some(behind)
}

pub(super) fn blobs(records: Vec<Record>) -> Vec<Vec<u8>> {
    let blob = |value| match value {
        SqlValue::Blob(bytes) => Some(bytes),
        _ => None,
    };
    records.into_iter().flatten().filter_map(blob).collect()
}
