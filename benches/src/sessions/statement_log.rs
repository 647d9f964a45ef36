//! The statements that a PostgreSQL server was sent, read from its log.
//!
//! Pure.

/// One statement and the values of its parameters.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct LoggedStatement {
    process: String,
    pub(super) sql: String,
    pub(super) values: Vec<Option<String>>,
}

/// Statements in the order in which their transactions ended, those of one transaction together.
pub(super) fn statements(log: &str) -> Vec<LoggedStatement> {
    let mut ended: Vec<LoggedStatement> = Vec::new();
    let mut open: Vec<LoggedStatement> = Vec::new();
    for statement in entries(log) {
        let process = statement.process.clone();
        let (begins, ends) = (statement.sql.starts_with("BEGIN"), is_end(&statement.sql));
        let is_within = begins || open.iter().any(|other| other.process == process);
        if !is_within {
            ended.push(statement);
            continue;
        }
        open.push(statement);
        if ends {
            ended.extend(open.iter().filter(|other| other.process == process).cloned());
            open.retain(|other| other.process != process);
        }
    }
    ended
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
        let found = statements(log);
        let texts: Vec<&str> = found.iter().map(|statement| statement.sql.as_str()).collect();
        assert_eq!(texts, ["SELECT 1", "BEGIN;", "INSERT INTO t VALUES ($1, $2, $3)", "COMMIT"]);
        assert_eq!(found[2].values, [Some("it's, $2 = 'x'".to_owned()), None, Some("7".to_owned())]);
    }
}
