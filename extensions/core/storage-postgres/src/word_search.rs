//! Finding rows by the words in their text, and making the index for it.

use crate::connection::OpenConnection;
use crate::layout;
use crate::sql::{self, StatementUse};
use dispatch_contracts::storage::{Columns, Record, SqlValue, StorageError, WordIndex, WordSearch};

/// Makes an index of words, inside a migration.
pub(crate) fn define(open: &mut OpenConnection, index: &WordIndex) -> Result<(), StorageError> {
    let rules = layout::query(open, sql::HAS_LETTER_RULES, &[])?;
    let has_rules = rules.first().is_some_and(|record| record.integer(0) != Ok(0));
    open.batch(&sql::word_functions(has_rules))?;
    open.batch(&sql::word_index_definition(index))
}

/// Runs a search for a store of these namespaces.
pub(crate) fn search(
    open: &mut OpenConnection,
    namespaces: &[String],
    search: &WordSearch,
) -> Result<Vec<Record>, StorageError> {
    let words = search.words().join(" ");
    let table = &search.index.table;
    // The table is the store's own, or the search is refused as any other statement is.
    let columns = search.column_list()?;
    open.permit(namespaces, StatementUse::Look, &format!("SELECT {columns} FROM \"{table}\""))?;
    let key = open.shared.owners().get(table).and_then(|owner| owner.number_column.clone());
    let key = key.ok_or_else(|| StorageError::Statement(format!("table `{table}` has no key that numbers itself")))?;
    if words.is_empty() {
        return Ok(Vec::new());
    }
    let values = [SqlValue::from(words), SqlValue::from(search.limit)];
    layout::query(open, &sql::word_question(search, &key)?, &values)
}
