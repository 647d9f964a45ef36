//! `UB06` and `UB07`: finds the graph and SQL queries of a call and has them judged.
//!
//! Pure.

mod cypher;
mod here;
mod sql;
mod token;

pub(super) use sql::is_scratch_name;

use dispatch_toolcall::{ShellContext, SimpleCommand, ToolCall, ToolKind, analyze};
use serde_json::Value;

use super::rules::{RA01, RuleFindings, UB06, UB07};
use super::{JudgedCommand, flow};

/// Programs that send the text of their words, or of their standard input, to a database.
const CLIENTS: &[&str] = &[
    "cypher-shell",
    "mgconsole",
    "psql",
    "pgcli",
    "mysql",
    "mariadb",
    "mycli",
    "sqlite3",
    "litecli",
    "duckdb",
    "sqlcmd",
    "clickhouse-client",
    "clickhouse",
    "cockroach",
    "usql",
    "snowsql",
    "bq",
    "trino",
    "presto",
    "isql",
    "wrangler",
    "sqlplus",
    "cqlsh",
    "ysqlsh",
    "vsql",
    "impala-shell",
    "beeline",
    "hive",
];
/// Programs that run another one elsewhere.
const CARRIERS: &[&str] = &["docker", "docker-compose", "podman", "nerdctl", "kubectl", "oc", "ssh", "wsl", "su"];
/// Fields that hold a query in any language.
const QUERY_FIELDS: &[&str] = &["query", "queries", "statement", "statements", "command", "code", "text", "q"];
/// Fields that hold a query for certain.
const LANGUAGE_FIELDS: &[&str] = &["sql", "cypher", "cypher_query", "cypherQuery", "sql_query", "sqlQuery"];
/// Fields that hold the text of one entry of a list.
const ENTRY_FIELDS: &[&str] = &["statement", "query", "sql", "cypher"];
/// Parts of names of tools that run queries.
const DATABASE_WORDS: &[&str] = &[
    "sql",
    "query",
    "database",
    "postgres",
    "maria",
    "duckdb",
    "clickhouse",
    "warehouse",
    "snowflake",
    "supabase",
    "redshift",
    "neo4j",
    "cypher",
    "memgraph",
    "graph",
    "execute",
    "db",
];
/// Queries of one call that are looked at.
const MAX_QUERIES: usize = 64;
/// What is longer is cut there.
const MAX_QUERY_BYTES: usize = 256 * 1024;

/// Judges the queries that a program call sends.
pub(super) fn judge_command(
    shell: &JudgedCommand<'_>,
    index: usize,
    command: &SimpleCommand,
    findings: &mut RuleFindings,
) {
    let program = command.program.as_str();
    let words = command.argv.get(1..).unwrap_or_default();
    let of_memory = words.iter().any(|word| word == ":memory:");
    if of_memory && !shell.text.to_ascii_lowercase().contains("attach") {
        return;
    }
    if CARRIERS.contains(&program) {
        judge_carried(shell, index, command, findings);
    } else if CLIENTS.contains(&program) {
        judge_client(shell, index, words, findings);
    }
}

/// `docker exec db psql -c '...'`, `ssh host "psql -c ..."`.
fn judge_carried(shell: &JudgedCommand<'_>, index: usize, command: &SimpleCommand, findings: &mut RuleFindings) {
    let client = command.argv.iter().position(|word| CLIENTS.contains(&word.rsplit('/').next().unwrap_or(word)));
    if let Some(at) = client {
        judge_client(shell, index, command.argv.get(at + 1..).unwrap_or_default(), findings);
        return;
    }
    for line in command.argv.iter().skip(1).filter(|word| word.contains(' ') && flow::mentions(word, CLIENTS)) {
        let effects = analyze(line, &ShellContext { cwd: "", home: None });
        let inner = JudgedCommand { effects: &effects, text: line, ..*shell };
        for (index, carried) in
            effects.commands.iter().enumerate().filter(|(_, carried)| CLIENTS.contains(&carried.program.as_str()))
        {
            judge_client(&inner, index, carried.argv.get(1..).unwrap_or_default(), findings);
        }
    }
}

/// Every query holds a blank, so every word with one may be a query; else it comes by standard input.
fn judge_client(shell: &JudgedCommand<'_>, index: usize, words: &[String], findings: &mut RuleFindings) {
    let mut queries = words.iter().filter(|word| word.contains(char::is_whitespace)).take(MAX_QUERIES).peekable();
    if queries.peek().is_some() {
        queries.for_each(|word| judge_query(unquoted(option_value(word)), findings));
        return;
    }
    let feeders = flow::feeding(&shell.effects.commands, index);
    for feeder in feeders.filter(|feeder| matches!(feeder.program.as_str(), "echo" | "printf")) {
        judge_query(&feeder.argv.get(1..).unwrap_or_default().join(" "), findings);
    }
    // Statements that another query makes: `psql -Atc "select 'drop table ' || ..." | psql`.
    let makes = |word: &String| {
        let lower = word.to_ascii_lowercase();
        ["'drop ", "'truncate ", "'delete from "].iter().any(|verb| lower.contains(verb))
    };
    let feeder =
        flow::feeding(&shell.effects.commands, index).find(|feeder| CLIENTS.contains(&feeder.program.as_str()));
    if feeder.is_some_and(|feeder| feeder.argv.iter().any(makes)) {
        findings.push(&UB07, "DROP");
    }
    for text in here::texts(shell.text).into_iter().take(MAX_QUERIES) {
        judge_query(text, findings);
    }
}

/// A word with a variable in it is shown as it was written, with its quotes.
fn unquoted(word: &str) -> &str {
    let inner = |quote: char| word.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
    inner('"').or_else(|| inner('\'')).unwrap_or(word)
}

/// The text in `--execute=TEXT` and `-eTEXT`.
fn option_value(word: &str) -> &str {
    match word.strip_prefix("--") {
        Some(long) => long.split_once('=').map_or(word, |(_, value)| value),
        None if word.starts_with('-') => word.get(2..).unwrap_or(word),
        None => word,
    }
}

/// Judges the query fields of a tool that runs no command.
pub(super) fn judge_fields(call: &ToolCall, input: &Value, findings: &mut RuleFindings) {
    let Value::Object(fields) = input else {
        return;
    };
    if !matches!(call.kind, ToolKind::Mcp | ToolKind::Other) {
        return;
    }
    let name = call.name.to_ascii_lowercase();
    let database = DATABASE_WORDS.iter().any(|word| name.contains(word)) && !name.contains("search");
    for (field, value) in fields {
        let certain = LANGUAGE_FIELDS.contains(&field.as_str());
        if certain || QUERY_FIELDS.contains(&field.as_str()) {
            for text in texts(value) {
                judge_text(text, if certain || database { TextKind::Query } else { TextKind::Words }, findings);
            }
        }
    }
}

/// A text, a list of texts, or a list of objects with a text each.
fn texts(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(entries) => entries.iter().take(MAX_QUERIES).filter_map(entry_text).collect(),
        _ => Vec::new(),
    }
}

fn entry_text(entry: &Value) -> Option<&str> {
    match entry {
        Value::Object(fields) => ENTRY_FIELDS.iter().find_map(|field| fields.get(*field)?.as_str()),
        other => other.as_str(),
    }
}

/// Whether a text is known to be a query, or may be words of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TextKind {
    Query,
    Words,
}

fn judge_query(text: &str, findings: &mut RuleFindings) {
    judge_text(text, TextKind::Query, findings);
}

/// Judges one text. The shape of a graph pattern cannot be mistaken for prose; that of SQL can.
fn judge_text(text: &str, kind: TextKind, findings: &mut RuleFindings) {
    let mut end = text.len().min(MAX_QUERY_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let text = text.get(..end).unwrap_or_default();
    if let Some(what) = cypher::unbounded(text) {
        findings.push(&UB06, what);
    }
    if kind == TextKind::Query
        && let Some(what) = sql::unbounded(text)
    {
        findings.push(if what.starts_with("DROP DATABASE") { &RA01 } else { &UB07 }, what);
    }
}
