//! Indexes of words as SQLite's full-text index has them: a table of its own, which is kept in step.
//!
//! Pure.

use dispatch_contracts::statement;
use dispatch_contracts::storage::{Statement, StorageError, WordIndex, WordSearch};
use std::borrow::Cow;

/// A statement of a migration as SQLite takes it: a declared index becomes the statements that make and fill it.
pub(crate) fn expanded<'a>(statement: &'a str) -> Vec<Cow<'a, str>> {
    match WordIndex::declared(statement) {
        Some(index) => definition(&index).into_iter().map(Cow::Owned).collect(),
        None => vec![Cow::Borrowed(statement)],
    }
}

fn definition(index: &WordIndex) -> Vec<String> {
    let (WordIndex { table, column }, name) = (index, index.name());
    let made = format!(
        "CREATE VIRTUAL TABLE \"{name}\" USING fts5 (
            \"{column}\", content = '{table}', tokenize = 'unicode61 remove_diacritics 2')"
    );
    let filled = format!("INSERT INTO \"{name}\" (\"{name}\") VALUES ('rebuild')");
    std::iter::once(made).chain(triggers(index)).chain([filled]).collect()
}

/// What keeps an index in step with its table. A row behind all others is not added by a trigger, which would make the
/// index write its pages for each row: [`added_rows`] adds all rows of a transaction at its end.
pub(crate) fn triggers(index: &WordIndex) -> [String; 3] {
    let (WordIndex { table, column }, name) = (index, index.name());
    let add = format!("INSERT INTO \"{name}\" (rowid, \"{column}\") VALUES (new.rowid, new.\"{column}\");");
    let remove = format!(
        "INSERT INTO \"{name}\" (\"{name}\", rowid, \"{column}\") VALUES ('delete', old.rowid, old.\"{column}\");"
    );
    let is_among = format!("WHEN new.rowid <= (SELECT max(id) FROM \"{name}_docsize\")");
    let is_known = format!("WHEN EXISTS (SELECT 1 FROM \"{name}_docsize\" WHERE id = old.rowid)");
    [
        format!("CREATE TRIGGER \"{name}_added\" AFTER INSERT ON \"{table}\" {is_among} BEGIN {add} END"),
        format!("CREATE TRIGGER \"{name}_removed\" AFTER DELETE ON \"{table}\" {is_known} BEGIN {remove} END"),
        format!(
            "CREATE TRIGGER \"{name}_changed\" AFTER UPDATE OF \"{column}\" ON \"{table}\" {is_known}
             BEGIN {remove} {add} END"
        ),
    ]
}

/// Adds the rows that are behind all others in the index.
pub(crate) fn added_rows(index: &WordIndex) -> String {
    let (WordIndex { table, column }, name) = (index, index.name());
    format!(
        "INSERT INTO \"{name}\" (rowid, \"{column}\") SELECT rowid, \"{column}\" FROM \"{table}\"
         WHERE rowid > (SELECT coalesce(max(id), 0) FROM \"{name}_docsize\")"
    )
}

/// The query for a search; none when nothing is asked for. Every word is in quotes, so that none is an operator.
pub(crate) fn question(search: &WordSearch) -> Result<Option<Statement>, StorageError> {
    let columns = search.column_list()?;
    let words: Vec<String> = search.words().iter().map(|word| format!("\"{word}\"*")).collect();
    if words.is_empty() {
        return Ok(None);
    }
    let (table, name) = (&search.index.table, search.index.name());
    let sql = format!(
        "SELECT {columns} FROM \"{table}\"
         WHERE rowid IN (SELECT rowid FROM \"{name}\" WHERE \"{name}\" MATCH ?1 ORDER BY rowid DESC LIMIT ?2)
         ORDER BY rowid DESC"
    );
    Ok(Some(statement!(sql, words.join(" "), search.limit)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use dispatch_contracts::storage::SqlValue;

    #[test]
    fn a_question_has_no_operators() {
        let search = |question: &str| WordSearch {
            index: WordIndex::on("t", "c"),
            columns: vec!["id".to_owned()],
            question: question.to_owned(),
            limit: 5,
        };
        let asked = question(&search("a\" OR NEAR(b* -c")).unwrap().unwrap();
        assert_eq!(asked.parameters[0], SqlValue::from("\"a\"* \"OR\"* \"NEAR\"* \"b\"* \"c\"*"));
        assert_eq!(question(&search(" \" ")), Ok(None));
    }

    #[test]
    fn other_statements_stay_as_they_are() {
        assert_eq!(expanded("CREATE INDEX i ON t (c)"), ["CREATE INDEX i ON t (c)"]);
        assert_eq!(expanded("CREATE WORD INDEX ON t (c)").len(), 5);
    }
}
