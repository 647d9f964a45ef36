//! SQL statements that change or remove every row, or a whole table.
//!
//! Pure.

use super::token::{QueryLanguage, QueryToken, tokens};

/// What `DROP` may take away together with its rows.
const HOLDS_ROWS: &[&str] = &["TABLE", "DATABASE", "SCHEMA", "KEYSPACE", "TABLESPACE"];
/// Words before `UPDATE` or `DELETE` that make it a part of another statement.
const PART_OF: &[&str] = &["FOR", "DO", "ON", "KEY", "AFTER", "BEFORE", "OR", "OF", "GRANT", "REVOKE", "THEN", "NO"];

/// The first statement without a bound, by its keyword.
pub(super) fn unbounded(text: &str) -> Option<&'static str> {
    let standard = judge(&tokens(text, QueryLanguage::Sql));
    // Databases differ in what a backslash does: a text that is unbounded in one reading is.
    let other = || text.contains('\\').then(|| judge(&tokens(text, QueryLanguage::SqlWithBackslash))).flatten();
    standard.or_else(other)
}

fn judge(all: &[QueryToken<'_>]) -> Option<&'static str> {
    let statements: Vec<&[QueryToken<'_>]> = all.split(|token| token.symbol() == Some(';')).collect();
    let is_made_again = |at: usize| {
        let dropped = statements.get(at).and_then(|statement| statement.last());
        let later = statements.get(at + 1..).unwrap_or_default();
        let makes = |statement: &&[QueryToken<'_>]| {
            statement.first().is_some_and(|first| first.is("CREATE"))
                && dropped.is_some_and(|name| statement.contains(name))
        };
        statements.get(at).is_some_and(|statement| is_table_drop(statement)) && later.iter().any(makes)
    };
    statements.iter().enumerate().filter(|(at, _)| !is_made_again(*at)).find_map(|(_, one)| statement(one))
}

/// `DROP TABLE [IF EXISTS] x`: one table, named last.
fn is_table_drop(tokens: &[QueryToken<'_>]) -> bool {
    tokens.first().is_some_and(|first| first.is("DROP")) && tokens.get(1).is_some_and(|kind| kind.is("TABLE"))
}

fn statement(tokens: &[QueryToken<'_>]) -> Option<&'static str> {
    let first = tokens.first()?;
    if first.is("EXPLAIN") && !tokens.get(1..4).unwrap_or_default().iter().any(|token| token.is("ANALYZE")) {
        return None;
    }
    if first.is("TRUNCATE") && tokens.len() > 1 {
        return Some("TRUNCATE");
    }
    if first.is("DROP") && tokens.get(1).is_some_and(|kind| kind.is_any(HOLDS_ROWS)) {
        if drops_scratch(tokens.get(2..).unwrap_or_default()) {
            return None;
        }
        let whole = tokens.get(1).is_some_and(|kind| kind.is_any(&["DATABASE", "SCHEMA"]));
        return Some(if whole { "DROP DATABASE" } else { "DROP" });
    }
    let changes = (0..tokens.len()).filter_map(|at| Some((at, changing(tokens, at)?)));
    changes.into_iter().find(|(at, _)| !is_bounded(tokens.get(*at..).unwrap_or_default())).map(|(_, verb)| verb)
}

/// Whether everything that a `DROP` names is made again by whoever uses it.
fn drops_scratch(names: &[QueryToken<'_>]) -> bool {
    const AROUND: &[&str] = &["IF", "EXISTS", "RESTRICT", "WITH", "FORCE"];
    let mut found = false;
    let scratch = names.iter().all(|token| match token {
        QueryToken::Symbol(',' | '(' | ')') => true,
        token if token.is_any(AROUND) => true,
        QueryToken::Word(name) => {
            found = true;
            is_scratch_name(name)
        }
        _ => false,
    });
    found && scratch
}

/// Whether a database or table is for tests or for one piece of work, by a word of its name.
pub(in super::super) fn is_scratch_name(name: &str) -> bool {
    const WORDS: &[&str] = &["test", "tests", "testing", "tmp", "temp", "scratch", "sandbox", "ci"];
    name.split(|c: char| !c.is_ascii_alphabetic())
        .any(|word| WORDS.iter().any(|known| word.eq_ignore_ascii_case(known)))
}

/// The verb at this place, if a change of rows starts here.
fn changing(tokens: &[QueryToken<'_>], at: usize) -> Option<&'static str> {
    let token = tokens.get(at)?;
    let before = at.checked_sub(1).and_then(|before| tokens.get(before));
    let starts = before.is_none_or(|before| {
        matches!(before, QueryToken::Symbol('(' | ')')) || before.is_any(&["EXPLAIN", "ANALYZE", "BEGIN"])
    });
    let rest = tokens.get(at + 1..).unwrap_or_default();
    if token.is("DELETE") && (starts || !before.is_some_and(|before| before.is_any(PART_OF))) {
        let from = rest.iter().take(if before.is_none() { rest.len() } else { 1 }).any(|token| token.is("FROM"));
        return from.then_some("DELETE");
    }
    let sets = || rest.iter().any(|token| token.is("SET"));
    (token.is("UPDATE") && starts && sets()).then_some("UPDATE")
}

/// Whether a condition that can be false, or a limit, bounds the change.
fn is_bounded(change: &[QueryToken<'_>]) -> bool {
    let mut depth = 0_usize;
    for (at, token) in change.iter().enumerate() {
        match token {
            QueryToken::Symbol('(') => depth += 1,
            QueryToken::Symbol(')') if depth == 0 => return false,
            QueryToken::Symbol(')') => depth -= 1,
            token if depth == 0 && token.is_any(&["LIMIT", "TOP"]) => return true,
            token if depth == 0 && token.is("WHERE") => return !always_true(change.get(at + 1..).unwrap_or_default()),
            _ => {}
        }
    }
    false
}

/// `1`, `true`, `1 = 1`, `'a' = 'a'`, also in parentheses and as one side of `OR`.
fn always_true(condition: &[QueryToken<'_>]) -> bool {
    let end =
        condition.iter().position(|token| token.is_any(&["RETURNING", "ORDER", "LIMIT"])).unwrap_or(condition.len());
    let plain: Vec<&QueryToken<'_>> = condition
        .get(..end)
        .unwrap_or_default()
        .iter()
        .filter(|token| !matches!(token, QueryToken::Symbol('(' | ')')))
        .collect();
    plain.is_empty()
        || plain.split(|token| token.is("OR")).any(|side| match side {
            [one] => one.is("TRUE") || matches!(one, QueryToken::Number(number) if *number != "0"),
            [left, equals, right] => {
                equals.symbol() == Some('=') && left == right && !matches!(left, QueryToken::Word(_))
            }
            _ => false,
        })
}

#[cfg(test)]
mod tests {
    use super::unbounded;

    #[test]
    fn only_statements_without_a_bound_are_found() {
        let table = [
            ("DELETE FROM t", Some("DELETE")),
            ("delete from t;", Some("DELETE")),
            ("DELETE FROM t WHERE id=1", None),
            ("DELETE FROM t WHERE id = 1 OR 1 = 1", Some("DELETE")),
            ("DELETE FROM t WHERE 1=1", Some("DELETE")),
            ("DELETE FROM t WHERE (true)", Some("DELETE")),
            ("DELETE FROM t WHERE 'a'='a'", Some("DELETE")),
            ("DELETE FROM t -- WHERE id=1", Some("DELETE")),
            ("DELETE FROM t /* WHERE id=1 */", Some("DELETE")),
            ("DELETE FROM t WHERE name = 'x; DROP TABLE y'", None),
            ("DELETE FROM t LIMIT 10", None),
            ("DELETE t1 FROM t1 JOIN t2 ON t1.id = t2.id", Some("DELETE")),
            ("DELETE FROM t WHERE id IN (SELECT id FROM u)", None),
            ("DELETE FROM t USING (SELECT 1 WHERE true) u", Some("DELETE")),
            ("WITH gone AS (DELETE FROM t RETURNING *) SELECT * FROM gone WHERE id = 1", Some("DELETE")),
            ("WITH gone AS (DELETE FROM t WHERE id = 1 RETURNING *) SELECT * FROM gone", None),
            ("WITH x AS (SELECT 1) DELETE FROM t", Some("DELETE")),
            ("SELECT 'DELETE FROM t'", None),
            ("SELECT 1; DELETE FROM t", Some("DELETE")),
            ("UPDATE t SET a = 1", Some("UPDATE")),
            ("UPDATE t SET a = 1 WHERE id = 2", None),
            ("update \"t\" set a = 'WHERE'", Some("UPDATE")),
            ("SELECT * FROM t FOR UPDATE", None),
            ("INSERT INTO t VALUES (1) ON CONFLICT DO UPDATE SET a = 1", None),
            ("INSERT INTO t VALUES (1) ON DUPLICATE KEY UPDATE a = 1", None),
            ("CREATE TABLE t (a int REFERENCES u ON DELETE CASCADE)", None),
            ("GRANT DELETE ON t TO u", None),
            ("DROP TABLE t", Some("DROP")),
            ("drop database if exists d", Some("DROP DATABASE")),
            ("DROP TABLE IF EXISTS tmp_import", None),
            ("DROP DATABASE app_test", None),
            ("DROP TABLE tmp_import, users", Some("DROP")),
            ("DROP TABLE tmp_import CASCADE", Some("DROP")),
            ("DROP DATABASE latest", Some("DROP DATABASE")),
            ("DROP INDEX i", None),
            ("DROP VIEW v", None),
            ("ALTER TABLE t DROP COLUMN c", None),
            ("TRUNCATE t", Some("TRUNCATE")),
            ("TRUNCATE TABLE t", Some("TRUNCATE")),
            ("SELECT truncate(1.5, 0)", None),
            ("/*!50000 DROP TABLE t */", Some("DROP")),
            ("EXPLAIN DELETE FROM t", None),
            ("EXPLAIN ANALYZE DELETE FROM t", Some("DELETE")),
            (r"DELETE FROM t WHERE a = '\'; DROP TABLE u; --'", Some("DROP")),
            ("CREATE FUNCTION f() AS $$ DELETE FROM t $$", None),
            ("BEGIN; DELETE FROM t; COMMIT", Some("DELETE")),
            ("", None),
            (";;;", None),
            ("DELETE", None),
            ("SELECT count(*) FROM t", None),
        ];
        for (text, expected) in table {
            assert_eq!(unbounded(text), expected, "{text}");
        }
    }
}
