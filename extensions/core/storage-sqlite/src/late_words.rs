//! Keeps the indexes of words in step: what a transaction added is put into its index once, at the end of the transaction.

use crate::database::Database;
use crate::word_index::{added_rows, triggers};
use dispatch_contracts::storage::{StorageError, WordIndex};
use rusqlite::Connection;
use rusqlite::hooks::Action;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The indexes of words of a database, with the trigger that each has for new rows.
const INDEXES: &str = "SELECT added.tbl_name, shown.name, added.sql FROM sqlite_schema words
     JOIN sqlite_schema added ON added.type = 'trigger' AND added.name = words.name || '_added'
     JOIN pragma_table_info(words.name) shown ON shown.cid = 0
     WHERE words.type = 'table' AND words.sql LIKE 'CREATE VIRTUAL TABLE%'
     AND words.name = added.tbl_name || '_' || shown.name || '_words'";

/// The indexes of one connection, and which of them wait for rows.
#[derive(Clone, Default)]
pub(crate) struct LateWords {
    known: Arc<Mutex<Vec<KnownIndex>>>,
}

struct KnownIndex {
    table: String,
    /// The statement that adds what is missing.
    add: String,
    is_behind: bool,
}

impl LateWords {
    /// Notes from now on which tables get rows.
    pub(crate) fn watch(connection: &mut Connection) -> rusqlite::Result<Self> {
        let words = Self::default();
        let noted = words.clone();
        let note = move |action: Action, _: &str, table: &str, _: i64| {
            if action == Action::SQLITE_INSERT {
                noted.known().iter_mut().filter(|index| index.table == table).for_each(|index| index.is_behind = true);
            }
        };
        connection.update_hook(Some(note))?;
        Ok(words)
    }

    fn known(&self) -> MutexGuard<'_, Vec<KnownIndex>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Learns anew which indexes there are.
    pub(crate) fn learn(&self, connection: &Connection) -> rusqlite::Result<()> {
        let known = |(index, _): (WordIndex, String)| KnownIndex {
            add: added_rows(&index),
            table: index.table,
            // Rows may have come in a way that nobody saw.
            is_behind: true,
        };
        let indexes = indexes(connection)?.into_iter().map(known).collect();
        *self.known() = indexes;
        Ok(())
    }

    /// Puts the rows of the transaction under way into their indexes.
    pub(crate) fn catch_up(&self, database: &Database) -> Result<(), StorageError> {
        let behind: Vec<String> = {
            let mut known = self.known();
            let behind =
                known.iter_mut().filter_map(|index| std::mem::take(&mut index.is_behind).then_some(&index.add));
            behind.cloned().collect()
        };
        behind.iter().try_for_each(|add| database.command(add))
    }
}

fn indexes(connection: &Connection) -> rusqlite::Result<Vec<(WordIndex, String)>> {
    let mut statement = connection.prepare(INDEXES)?;
    let found = statement
        .query_map([], |row| Ok((WordIndex::on(row.get::<_, String>(0)?, row.get::<_, String>(1)?), row.get(2)?)))?;
    found.collect()
}

/// Gives indexes that an earlier version made the triggers of this one.
pub(crate) fn renew_triggers(database: &Database) -> Result<(), StorageError> {
    if old_triggers(database)?.is_empty() {
        return Ok(());
    }
    database.command("BEGIN IMMEDIATE")?;
    let renewed = old_triggers(database).and_then(|old| {
        let names = old.iter().flat_map(|index| ["added", "removed", "changed"].map(|end| (index.name(), end)));
        let dropped = names.map(|(name, end)| format!("DROP TRIGGER \"{name}_{end}\""));
        dropped.chain(old.iter().flat_map(triggers)).try_for_each(|step| database.command(&step))
    });
    renewed.and_then(|()| database.command("COMMIT")).inspect_err(|_| _ = database.command("ROLLBACK"))
}

/// The indexes whose triggers add every row.
fn old_triggers(database: &Database) -> Result<Vec<WordIndex>, StorageError> {
    let found = indexes(database.trusted()).map_err(|error| database.told(&error))?;
    let old = found.into_iter().filter(|(_, added)| !added.contains(" WHEN "));
    Ok(old.map(|(index, _)| index).collect())
}
