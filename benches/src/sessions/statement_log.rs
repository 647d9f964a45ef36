//! The statements that a PostgreSQL server was sent, read from its log.
//!
//! Pure.

use std::collections::{BTreeMap, VecDeque};

/// One statement and the values of its parameters.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct LoggedStatement {
    process: String,
    pub(super) sql: String,
    pub(super) values: Vec<Option<String>>,
}

/// The statements of one transaction, or one statement outside of any.
pub(super) type Unit = Vec<LoggedStatement>;

/// The texts of a unit: what it does, whatever its values are.
pub(super) fn texts(unit: &Unit) -> Vec<String> {
    unit.iter().map(|statement| statement.sql.clone()).collect()
}

/// What was sent, in the order in which it ended.
pub(super) fn units(log: &str) -> Vec<Unit> {
    let mut ended: Vec<Unit> = Vec::new();
    let mut open: BTreeMap<String, Unit> = BTreeMap::new();
    for statement in entries(log) {
        let process = statement.process.clone();
        let (begins, ends) = (statement.sql.starts_with("BEGIN"), is_end(&statement.sql));
        if !begins && !open.contains_key(&process) {
            ended.push(vec![statement]);
            continue;
        }
        open.entry(process.clone()).or_default().push(statement);
        if ends {
            ended.extend(open.remove(&process));
        }
    }
    ended
}

/// Each unit of `next` with the one of `last` that has the same texts; `None` if one of them has no partner. Units of
/// different connections end in any order.
pub(super) fn partners(last: &[Unit], next: &[Unit]) -> Option<Vec<(Unit, Unit)>> {
    let mut waiting: BTreeMap<Vec<String>, VecDeque<Unit>> = BTreeMap::new();
    for unit in last {
        waiting.entry(texts(unit)).or_default().push_back(unit.clone());
    }
    let partner = |unit: &Unit| Some((waiting.get_mut(&texts(unit))?.pop_front()?, unit.clone()));
    (last.len() == next.len()).then_some(())?;
    next.iter().map(partner).collect()
}

pub(super) fn is_end(sql: &str) -> bool {
    sql.starts_with("COMMIT") || sql.starts_with("ROLLBACK")
}

fn entries(log: &str) -> Vec<LoggedStatement> {
    let mut found: Vec<LoggedStatement> = Vec::new();
    for entry in log.replace("\n\t", " ").lines() {
        let Some((head, text)) = entry.split_once("]: ").or_else(|| entry.split_once("] ")) else { continue };
        let Some(process) = head.rsplit('[').next().map(str::to_owned) else { continue };
        if let Some(values) = text.strip_prefix("DETAIL:  parameters: ") {
            if let Some(last) = found.iter_mut().rev().find(|last| last.process == process) {
                last.values = parameters(values);
            }
            continue;
        }
        let Some(text) = text.strip_prefix("LOG:  ") else { continue };
        let executed = text.strip_prefix("execute ").and_then(|text| text.split_once(": ")).map(|(_, sql)| sql);
        if let Some(sql) = executed.or_else(|| text.strip_prefix("statement: ")) {
            found.push(LoggedStatement { process, sql: sql.trim().to_owned(), values: Vec::new() });
        }
    }
    found
}

/// `$1 = 'it''s', $2 = NULL`.
fn parameters(text: &str) -> Vec<Option<String>> {
    let mut values = Vec::new();
    let mut rest = text;
    while let Some((_, value)) = rest.split_once(" = ") {
        let Some(quoted) = value.strip_prefix('\'') else {
            values.push(None);
            rest = value.split_once(", ").map_or("", |(_, rest)| rest);
            continue;
        };
        let (mut said, mut end) = (String::new(), quoted.len());
        let mut letters = quoted.char_indices().peekable();
        while let Some((at, letter)) = letters.next() {
            if letter != '\'' {
                said.push(letter);
            } else if letters.next_if(|(_, next)| *next == '\'').is_some() {
                said.push('\'');
            } else {
                end = at + 1;
                break;
            }
        }
        values.push(Some(said));
        rest = quoted.get(end..).unwrap_or_default().trim_start_matches(", ");
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transactions_that_overlap_are_told_apart_and_values_are_read() {
        let log = "2026-01-01 00:00:00 UTC [1] LOG:  statement: BEGIN; \n\
                   2026-01-01 00:00:00 UTC [2] LOG:  execute s1: SELECT 1\n\
                   2026-01-01 00:00:00 UTC [1] LOG:  execute s2: INSERT INTO t\n\tVALUES ($1, $2, $3)\n\
                   2026-01-01 00:00:00 UTC [1] DETAIL:  parameters: $1 = 'it''s, $2 = ''x''', $2 = NULL, $3 = '7'\n\
                   2026-01-01 00:00:00 UTC [1] LOG:  statement: COMMIT\n";
        let found = units(log);
        let sent: Vec<Vec<String>> = found.iter().map(texts).collect();
        let transaction = ["BEGIN;", "INSERT INTO t VALUES ($1, $2, $3)", "COMMIT"].map(str::to_owned).to_vec();
        assert_eq!(sent, [vec!["SELECT 1".to_owned()], transaction]);
        assert_eq!(found[1][1].values, [Some("it's, $2 = 'x'".to_owned()), None, Some("7".to_owned())]);
    }

    #[test]
    fn partners_are_found_in_any_order_and_each_once() {
        let unit = |sql: &str, value: &str| {
            let values = vec![Some(value.to_owned())];
            vec![LoggedStatement { process: "1".to_owned(), sql: sql.to_owned(), values }]
        };
        let last = [unit("a", "1"), unit("b", "1"), unit("a", "2")];
        let next = [unit("b", "3"), unit("a", "3"), unit("a", "4")];
        let found = partners(&last, &next).unwrap();
        assert_eq!(
            found.iter().map(|(last, _)| last.clone()).collect::<Vec<_>>(),
            [1, 0, 2].map(|at| last[at].clone())
        );
        assert_eq!(found.iter().map(|(_, next)| next.clone()).collect::<Vec<_>>(), next);
        assert_eq!(partners(&last, &[unit("a", "1"), unit("b", "1"), unit("b", "2")]), None);
        assert_eq!(partners(&last, &next[..2]), None);
    }
}
