//! Rows whose key is given in a column that otherwise numbers itself: the numbers go on behind it, as in SQLite.
//!
//! Pure.

use super::check::TableOwners;
use super::token::{Token, tokens};

/// A table whose numbers must be looked after once a statement was run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ExplicitKey {
    pub(crate) table: String,
    pub(crate) column: String,
}

impl ExplicitKey {
    /// The table that a statement gives explicit keys to, if it does.
    pub(crate) fn of(sql: &str, owners: &TableOwners) -> Option<Self> {
        let all = tokens(sql);
        let pieces: Vec<Token<'_>> = all.into_iter().filter(|piece| !matches!(piece, Token::Space(_))).collect();
        let insert = pieces
            .windows(2)
            .position(|pair| matches!(pair, [insert, into] if insert.is("insert") && into.is("into")))?;
        let table = pieces.get(insert + 2)?.name()?;
        let column = owners.get(&table)?.number_column.clone()?;
        let names = pieces.get(insert + 3..)?;
        let has_list = names.first().is_some_and(|first| first.is_sign("("));
        let mut listed = names.iter().skip(1).take_while(|piece| !piece.is_sign(")")).filter_map(Token::name);
        (!has_list || listed.any(|name| name == column)).then_some(Self { table, column })
    }

    /// A statement that lets the numbers go on behind the highest key.
    pub(crate) fn follow(&self) -> String {
        let quote = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
        let (table, column) = (quote(&self.table), quote(&self.column));
        let (table_text, column_text) = (table.replace('\'', "''"), self.column.replace('\'', "''"));
        format!(
            "SELECT setval(n.numbers, n.highest) FROM (
                SELECT pg_get_serial_sequence('{table_text}', '{column_text}')::regclass AS numbers,
                       (SELECT max({column}) FROM {table}) AS highest) AS n
             WHERE n.highest > COALESCE(pg_sequence_last_value(n.numbers), 0)"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::TableOwner;
    use super::*;

    #[test]
    fn a_key_is_explicit_if_the_statement_names_its_column() {
        let owner =
            |number: Option<&str>| TableOwner { namespace: "a".into(), number_column: number.map(str::to_owned) };
        let owners = [("notes".to_owned(), owner(Some("id"))), ("plain".to_owned(), owner(None))].into();
        for (sql, explicit) in [
            ("INSERT INTO notes (id, body) VALUES (1, ?1)", true),
            ("INSERT INTO notes (body) VALUES ('id')", false),
            ("INSERT INTO notes SELECT * FROM x", true),
            ("INSERT INTO plain (id) VALUES (1)", false),
            ("SELECT id FROM notes", false),
        ] {
            assert_eq!(ExplicitKey::of(sql, &owners).is_some(), explicit, "{sql}");
        }
    }
}
