//! The tables of the ledger, and the index that searches what was said where the database has one.

use dispatch_contracts::migration::Migration;
use dispatch_contracts::statement;
use dispatch_contracts::storage::{Columns, Storage};

/// Whether the database can index words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextIndex {
    /// SQLite's full-text index follows the texts by itself.
    Words,
    /// Texts are looked through one by one.
    None,
}

impl TextIndex {
    /// Asks the database. One that does not know the question has no such index.
    pub(crate) async fn of(storage: &dyn Storage) -> Self {
        let asked = storage.query(statement!("SELECT sqlite_compileoption_used('ENABLE_FTS5')")).await;
        let has = asked.is_ok_and(|rows| rows.first().is_some_and(|row| row.integer(0) == Ok(1)));
        if has { Self::Words } else { Self::None }
    }
}

/// The steps for a database with or without an index. A database stays with the one it began with.
pub(crate) fn migrations(index: TextIndex) -> Vec<Migration> {
    let index = match index {
        TextIndex::Words => INDEX,
        TextIndex::None => &[],
    };
    vec![
        Migration { version: 1, name: "ledger", statements: LEDGER },
        Migration { version: 2, name: "search", statements: index },
        Migration { version: 3, name: "the folder of a session", statements: FOLDER },
    ]
}

const LEDGER: &[&str] = &[
    "CREATE TABLE agent_sessions (
        id TEXT PRIMARY KEY, label TEXT NOT NULL UNIQUE, persona TEXT NOT NULL, title TEXT, head_turn TEXT,
        next_ord INTEGER NOT NULL, next_seq INTEGER NOT NULL, forked_from TEXT, forked_at TEXT,
        created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL)",
    "CREATE INDEX agent_sessions_updated ON agent_sessions (updated_at)",
    "CREATE INDEX agent_sessions_head ON agent_sessions (head_turn)",
    "CREATE TABLE agent_turns (
        id TEXT PRIMARY KEY, session TEXT NOT NULL, ord INTEGER NOT NULL, parent TEXT, fence INTEGER NOT NULL,
        state TEXT NOT NULL, model TEXT NOT NULL, started_at INTEGER NOT NULL, ended_at INTEGER,
        \"end\" TEXT, usage TEXT, UNIQUE (session, ord))",
    "CREATE INDEX agent_turns_parent ON agent_turns (parent)",
    "CREATE INDEX agent_turns_running ON agent_turns (session) WHERE state = 'running'",
    "CREATE TABLE agent_messages (
        session TEXT NOT NULL, seq INTEGER NOT NULL, turn TEXT NOT NULL, step INTEGER NOT NULL, row_id TEXT NOT NULL,
        kind TEXT NOT NULL, fence INTEGER NOT NULL, made_at INTEGER NOT NULL, body TEXT NOT NULL,
        PRIMARY KEY (session, seq), UNIQUE (turn, row_id))",
    "CREATE TABLE agent_tool_calls (
        turn TEXT NOT NULL, call_id TEXT NOT NULL, name TEXT NOT NULL, state TEXT NOT NULL, status TEXT,
        started_at INTEGER, ended_at INTEGER, UNIQUE (turn, call_id))",
    "CREATE TABLE agent_texts (
        id INTEGER PRIMARY KEY, session TEXT NOT NULL, seq INTEGER NOT NULL, turn TEXT NOT NULL, role TEXT NOT NULL,
        text TEXT NOT NULL)",
    "CREATE INDEX agent_texts_turn ON agent_texts (turn, role, id)",
];

const FOLDER: &[&str] = &[
    "ALTER TABLE agent_sessions ADD COLUMN folder TEXT",
    "CREATE INDEX agent_sessions_folder ON agent_sessions (folder, updated_at)",
];

/// Triggers keep the index in step, so that whoever writes rows need not know of it.
const INDEX: &[&str] = &[
    "CREATE VIRTUAL TABLE agent_texts_index USING fts5 (
        text, content = 'agent_texts', content_rowid = 'id', tokenize = 'unicode61 remove_diacritics 2')",
    "CREATE TRIGGER agent_texts_added AFTER INSERT ON agent_texts BEGIN
        INSERT INTO agent_texts_index (rowid, text) VALUES (new.id, new.text);
     END",
    "CREATE TRIGGER agent_texts_removed AFTER DELETE ON agent_texts BEGIN
        INSERT INTO agent_texts_index (agent_texts_index, rowid, text) VALUES ('delete', old.id, old.text);
     END",
];
