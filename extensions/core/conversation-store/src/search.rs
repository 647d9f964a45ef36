//! Finding what was said: by the index of words, and by looking through the newest texts for what it does not know; and
//! a line around what was found.

use crate::contract::{Hit, MAX_PAGE};
use crate::schema::text_index;
use dispatch_contracts::ids::{SessionId, TurnId};
use dispatch_contracts::statement;
use dispatch_contracts::storage::{Columns, Record, SqlValue, Statement, Storage, StorageError, WordSearch};
use std::collections::BTreeSet;

/// The most words of a question that count.
const MAX_WORDS: usize = 16;
/// The longest word that counts.
const MAX_WORD_CHARS: usize = 100;
/// How many of the newest texts are looked through for what is inside a word.
const LOOKED_THROUGH: i64 = 100_000;
/// A turn often says a word in several rows and counts once.
const ROWS_PER_HIT: u32 = 8;
const SNIPPET_BEFORE_CHARS: usize = 40;
const SNIPPET_CHARS: usize = 160;
/// What is read of each text.
const COLUMNS: [&str; 4] = ["session", "seq", "turn", "text"];

/// Turns in which all words of the question were said in one breath, newest first.
pub(crate) async fn search(storage: &dyn Storage, question: &str, limit: u32) -> Result<Vec<Hit>, StorageError> {
    let words = words(question);
    let limit = limit.clamp(1, MAX_PAGE);
    if words.is_empty() {
        return Ok(Vec::new());
    }
    let rows = limit.saturating_mul(ROWS_PER_HIT);
    let mut found = storage.search(by_index(question, rows)).await?;
    // The index knows words from their beginning; what is inside one, or in a script without spaces, it does not.
    if found.is_empty() {
        found = storage.query(by_looking(&words, rows)).await?;
    }
    let mut seen = BTreeSet::new();
    let mut hits = Vec::new();
    for record in found {
        if hits.len() < limit as usize && seen.insert(record.text(2)?.to_owned()) {
            hits.extend(hit(storage, &record, &words).await?);
        }
    }
    Ok(hits)
}

fn words(question: &str) -> Vec<String> {
    let clean = question.replace('\0', " ");
    let words = clean.split_whitespace().map(|word| word.chars().take(MAX_WORD_CHARS).collect());
    words.take(MAX_WORDS).collect()
}

fn by_index(question: &str, limit: u32) -> WordSearch {
    let columns = COLUMNS.map(str::to_owned).to_vec();
    WordSearch { index: text_index(), columns, question: question.to_owned(), limit }
}

fn by_looking(words: &[String], limit: u32) -> Statement {
    let tests: Vec<String> = (3..).zip(words).map(|(at, _)| format!("lower(text) LIKE ?{at} ESCAPE '\\'")).collect();
    let sql = format!(
        "SELECT {} FROM agent_texts WHERE id > (SELECT COALESCE(MAX(id), 0) FROM agent_texts) - ?1 AND {}
         ORDER BY id DESC LIMIT ?2",
        COLUMNS.join(", "),
        tests.join(" AND ")
    );
    let fixed = [SqlValue::from(LOOKED_THROUGH), SqlValue::from(limit)];
    Statement::new(sql, fixed.into_iter().chain(words.iter().map(|word| SqlValue::from(pattern(word)))))
}

fn pattern(word: &str) -> String {
    let escaped = word.to_ascii_lowercase().replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_");
    format!("%{escaped}%")
}

/// A turn whose own session is gone is still part of a fork; one that is part of nothing is no hit.
async fn hit(storage: &dyn Storage, record: &Record, words: &[String]) -> Result<Option<Hit>, StorageError> {
    let session = SessionId::from(record.text(0)?);
    let turn = TurnId::from(record.text(2)?);
    let mut labels = storage.query(statement!("SELECT label FROM agent_sessions WHERE id = ?1", &session)).await?;
    if labels.is_empty() {
        labels = storage.query(heirs(&turn)).await?;
    }
    let Some(label) = labels.first() else { return Ok(None) };
    let (label, snippet) = (label.text(0)?.to_owned(), snippet(record.text(3)?, words));
    Ok(Some(Hit { label, session, turn, seq: record.unsigned(1)?, snippet }))
}

/// The sessions that have a turn in their history.
fn heirs(turn: &TurnId) -> Statement {
    statement!(
        "WITH RECURSIVE later (id) AS (
            SELECT id FROM agent_turns WHERE id = ?1
            UNION
            SELECT t.id FROM later l JOIN agent_turns t ON t.parent = l.id)
         SELECT s.label FROM later l JOIN agent_sessions s ON s.head_turn = l.id ORDER BY s.updated_at DESC LIMIT 1",
        turn
    )
}

/// The words around the first one that is found, on one line.
fn snippet(text: &str, words: &[String]) -> String {
    let lower = text.to_ascii_lowercase();
    let at = words.iter().filter_map(|word| lower.find(&word.to_ascii_lowercase())).min().unwrap_or(0);
    let before = text.get(..at).unwrap_or_default();
    let start = before.char_indices().rev().take(SNIPPET_BEFORE_CHARS).last().map_or(at, |(at, _)| at);
    let mut rest = text.get(start..).unwrap_or_default().chars();
    let shown: String = rest.by_ref().take(SNIPPET_CHARS).collect();
    let line = shown.split(|shown: char| shown.is_whitespace() || shown.is_control()).filter(|word| !word.is_empty());
    let line = line.collect::<Vec<_>>().join(" ");
    let (head, tail) = (if start > 0 { "\u{2026}" } else { "" }, if rest.next().is_some() { "\u{2026}" } else { "" });
    format!("{head}{line}{tail}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snippet_is_one_short_line_around_the_word() {
        let long = format!("{} the Needle {}", "a\u{e9} ".repeat(200), "b\n\t\u{7}".repeat(300));
        let shown = snippet(&long, &words("needle"));
        assert!(shown.contains("the Needle b b"), "{shown}");
        assert!(shown.starts_with('\u{2026}') && shown.ends_with('\u{2026}'), "{shown}");
        assert!(shown.chars().count() <= SNIPPET_CHARS + 2 && !shown.contains(char::is_control), "{shown}");
        assert_eq!(snippet("short", &words("nothing")), "short");
        assert_eq!(snippet("", &[]), "");
    }

    #[test]
    fn a_question_has_no_operators() {
        assert_eq!(pattern("100%_\\A"), "%100\\%\\_\\\\a%");
        assert!(words(" \0 \n").is_empty());
        assert_eq!(words(&"x ".repeat(100)).len(), MAX_WORDS);
    }
}
