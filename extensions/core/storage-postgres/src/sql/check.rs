//! What a statement may do and which tables it may name: those of the namespaces of its store.
//!
//! Pure.

use super::token::{Token, tokens};
use std::collections::{BTreeMap, BTreeSet};

/// Tables of the backend itself begin with this.
pub(crate) const RESERVED_PREFIX: &str = "dispatch_";
/// Names that reach the database's own tables, settings and files.
const FORBIDDEN: &[&str] = &["pg_", "lo_", "sqlite_"];
const FORBIDDEN_NAMES: &[&str] = &["information_schema", "set_config", "current_setting", "dblink", "query_to_xml"];
/// Words that begin a part of a query in which commas do not separate tables any more.
const ENDS_TABLES: &[&str] = &[
    "where",
    "group",
    "order",
    "having",
    "limit",
    "offset",
    "set",
    "on",
    "using",
    "union",
    "values",
    "select",
    "returning",
];

/// Whose a table is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TableOwner {
    pub(crate) namespace: String,
    /// The column whose values number themselves.
    pub(crate) number_column: Option<String>,
}

/// Whose each table is, by its name.
pub(crate) type TableOwners = BTreeMap<String, TableOwner>;

/// What a statement is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StatementUse {
    /// A query outside a transaction.
    Look,
    /// Inside a transaction.
    Change,
    /// A step of a migration.
    Define,
}

/// Says why a statement is refused to a store of these namespaces.
pub(crate) fn check(
    sql: &str,
    purpose: StatementUse,
    namespaces: &[String],
    owners: &TableOwners,
) -> Result<(), String> {
    let all = tokens(sql);
    let pieces: Vec<Token<'_>> = all.into_iter().filter(|piece| !matches!(piece, Token::Space(_))).collect();
    check_kind(&pieces, purpose)?;
    for name in pieces.iter().filter_map(Token::name) {
        if FORBIDDEN.iter().any(|prefix| name.starts_with(prefix)) || FORBIDDEN_NAMES.contains(&name.as_str()) {
            return Err(format!("`{name}` is out of reach"));
        }
    }
    let made = if purpose == StatementUse::Define { made(&pieces) } else { None };
    let queries = named_queries(&pieces);
    for table in tables(&pieces)? {
        let owner = owners.get(&table).map(|owner| &owner.namespace);
        let is_ours = owner.is_some_and(|owner| namespaces.contains(owner));
        match owner {
            _ if table.starts_with(RESERVED_PREFIX) => return Err(format!("`{table}` is out of reach")),
            _ if is_ours || queries.contains(&table) || made.as_ref() == Some(&table) => {}
            Some(owner) => return Err(format!("table `{table}` belongs to `{owner}`")),
            None => return Err(format!("table `{table}` belongs to no migration of this store")),
        }
    }
    Ok(())
}

fn check_kind(pieces: &[Token<'_>], purpose: StatementUse) -> Result<(), String> {
    let rows = ["select", "with", "insert", "update", "delete", "values"];
    let definitions = ["create", "alter", "drop"];
    let first = pieces.first().and_then(Token::name).unwrap_or_default();
    if pieces.iter().any(|piece| piece.is_sign(";")) {
        return Err("one statement at a time".to_owned());
    }
    let is_allowed =
        rows.contains(&first.as_str()) || (purpose == StatementUse::Define && definitions.contains(&first.as_str()));
    if !is_allowed {
        return Err(format!(
            "a store reads and changes rows, and `{first}` does not; tables are made by migrations alone"
        ));
    }
    let changes = |piece: &Token<'_>| rows.iter().skip(2).take(3).any(|word| piece.is(word));
    if purpose == StatementUse::Look && pieces.iter().any(changes) {
        return Err("rows are changed in a transaction alone".to_owned());
    }
    Ok(())
}

/// The names that stand where a table stands.
fn tables(pieces: &[Token<'_>]) -> Result<BTreeSet<String>, String> {
    let mut found = BTreeSet::new();
    // The depths of parentheses in which a comma leads to the next table.
    let mut listing: Vec<usize> = Vec::new();
    let mut depth = 0_usize;
    for (at, piece) in pieces.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|before| pieces.get(before));
        match piece {
            Token::Other("(") => depth += 1,
            Token::Other(")") => {
                listing.retain(|known| *known < depth);
                depth = depth.saturating_sub(1);
            }
            Token::Other(",") if listing.contains(&depth) => add(&mut found, pieces, at + 1)?,
            Token::Word(word) if ENDS_TABLES.iter().any(|end| word.eq_ignore_ascii_case(end)) => {
                listing.retain(|known| *known < depth);
            }
            _ => {}
        }
        let leads = (piece.is("from") && before.is_none_or(|before| !before.is("distinct")))
            || ["join", "into", "references"].iter().any(|word| piece.is(word))
            || (piece.is("update") && before.is_none_or(|before| !before.is("do") && !before.is("for")))
            || (piece.is("table")
                && before.is_some_and(|before| before.is("alter") || before.is("drop") || before.is("create")))
            || (piece.is("on") && is_index(pieces));
        if leads {
            if piece.is("from") {
                listing.push(depth);
            }
            add(&mut found, pieces, skip_if_exists(pieces, at + 1))?;
        }
    }
    Ok(found)
}

fn is_index(pieces: &[Token<'_>]) -> bool {
    pieces.first().is_some_and(|first| first.is("create")) && pieces.iter().take(3).any(|piece| piece.is("index"))
}

fn skip_if_exists(pieces: &[Token<'_>], at: usize) -> usize {
    let is = |offset: usize, word: &str| pieces.get(at + offset).is_some_and(|piece| piece.is(word));
    match () {
        () if is(0, "if") && is(1, "exists") => at + 2,
        () if is(0, "if") && is(1, "not") && is(2, "exists") => at + 3,
        () => at,
    }
}

fn add(found: &mut BTreeSet<String>, pieces: &[Token<'_>], at: usize) -> Result<(), String> {
    let Some(name) = pieces.get(at).and_then(Token::name) else { return Ok(()) };
    let next = pieces.get(at + 1);
    if next.is_some_and(|next| next.is_sign(".")) {
        return Err(format!("`{name}.` is out of reach: tables are named without a schema"));
    }
    found.insert(name);
    Ok(())
}

/// The names that `WITH` gives to queries: those before `AS (`, with or without columns.
fn named_queries(pieces: &[Token<'_>]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    if !pieces.iter().any(|piece| piece.is("with")) {
        return found;
    }
    for (at, piece) in pieces.iter().enumerate() {
        if !piece.is("as") || !pieces.get(at + 1).is_some_and(|next| next.is_sign("(")) {
            continue;
        }
        let mut before = at;
        if before.checked_sub(1).and_then(|at| pieces.get(at)).is_some_and(|piece| piece.is_sign(")")) {
            let opening = pieces.get(..before).and_then(|before| before.iter().rposition(|piece| piece.is_sign("(")));
            before = opening.unwrap_or(before);
        }
        found.extend(before.checked_sub(1).and_then(|at| pieces.get(at)).and_then(Token::name));
    }
    found
}

/// The table that a migration makes, if it makes one.
fn made(pieces: &[Token<'_>]) -> Option<String> {
    let [first, second, ..] = pieces else { return None };
    let makes = first.is("create") && second.is("table");
    makes.then(|| pieces.get(skip_if_exists(pieces, 2)).and_then(Token::name)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(sql: &str, purpose: StatementUse) -> Result<(), String> {
        let owners = [("mine", "a"), ("also", "a"), ("theirs", "b")];
        let owner = |name: &str| TableOwner { namespace: name.to_owned(), number_column: None };
        let owners = owners.map(|(table, name)| (table.to_owned(), owner(name))).into();
        check(sql, purpose, &["a".to_owned()], &owners)
    }

    #[test]
    fn a_store_reaches_its_own_tables_by_rows() {
        for fine in [
            "SELECT m.id FROM mine m, also WHERE m.id IN (SELECT id FROM also) ORDER BY 1, 2",
            "WITH RECURSIVE up (id) AS (SELECT id FROM mine UNION SELECT a.id FROM up u JOIN also a ON a.id = u.id), \
             b AS (SELECT 1) SELECT id FROM up, b",
            "INSERT INTO mine (id) VALUES (?1) ON CONFLICT (id) DO UPDATE SET id = excluded.id RETURNING id",
            "INSERT INTO \"mine\" SELECT id FROM also",
            "UPDATE mine SET a = (SELECT MAX(x) FROM also) WHERE theirs = 1",
            "DELETE FROM mine WHERE a IS DISTINCT FROM b AND dispatch_id = 1",
            "SELECT 'FROM theirs', theirs FROM mine -- FROM theirs",
        ] {
            assert_eq!(verdict(fine, StatementUse::Change), Ok(()), "{fine}");
        }
        for (wrong, why) in [
            ("SELECT id FROM theirs", "belongs to `b`"),
            ("SELECT 1 FROM mine, theirs", "belongs to `b`"),
            ("SELECT 1 FROM mine WHERE x IN (SELECT y FROM also, theirs)", "belongs to `b`"),
            ("INSERT INTO mine (id) SELECT id FROM theirs", "belongs to `b`"),
            ("UPDATE theirs SET a = 1", "belongs to `b`"),
            ("SELECT 1 FROM other.mine", "without a schema"),
            ("SELECT * FROM pg_authid", "out of reach"),
            ("SELECT * FROM dispatch_values", "out of reach"),
            ("SELECT pg_sleep(1)", "out of reach"),
            ("SELECT 1 FROM missing", "no migration"),
            ("SELECT 1; SELECT 2", "one statement"),
            ("CREATE TABLE more (id INTEGER)", "migrations alone"),
            ("BEGIN", "migrations alone"),
            ("", "migrations alone"),
            ("SELEKT 1", "migrations alone"),
        ] {
            let said = verdict(wrong, StatementUse::Change).unwrap_err();
            assert!(said.contains(why), "{wrong}: {said}");
        }
        assert!(verdict("INSERT INTO mine (id) VALUES (1)", StatementUse::Look).is_err());
        assert!(verdict("WITH x AS (DELETE FROM mine RETURNING id) SELECT id FROM x", StatementUse::Look).is_err());
    }

    #[test]
    fn a_migration_keeps_to_its_own_tables() {
        for fine in [
            "CREATE TABLE new (id INTEGER REFERENCES mine (id))",
            "CREATE UNIQUE INDEX i ON mine (id) WHERE id IS NOT NULL",
            "ALTER TABLE mine RENAME TO renamed",
            "DROP TABLE IF EXISTS mine",
        ] {
            assert_eq!(verdict(fine, StatementUse::Define), Ok(()), "{fine}");
        }
        for wrong in [
            "CREATE TABLE dispatch_x (id INTEGER)",
            "CREATE TABLE new (id INTEGER REFERENCES theirs (id))",
            "CREATE TABLE copies AS SELECT * FROM theirs",
            "CREATE INDEX i ON theirs (id)",
            "ALTER TABLE theirs ADD COLUMN x TEXT",
            "DROP TABLE theirs",
        ] {
            assert!(verdict(wrong, StatementUse::Define).is_err(), "{wrong}");
        }
    }
}
