//! The tables of the ledger, and the index that searches what was said.

use dispatch_contracts::migration::Migration;
use dispatch_contracts::statement;
use dispatch_contracts::storage::{Columns, Storage, WordIndex};

/// The index over what was said.
pub(crate) fn text_index() -> WordIndex {
    WordIndex::on("agent_texts", "text")
}

/// What the second step was in this database, before indexes of words were declared the same way for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FirstIndex {
    /// A table of SQLite's own, and triggers.
    Sqlite,
    /// Nothing.
    None,
}

impl FirstIndex {
    /// Asks the database. One that does not know the question had no such index.
    pub(crate) async fn of(storage: &dyn Storage) -> Self {
        let asked = storage.query(statement!("SELECT sqlite_compileoption_used('ENABLE_FTS5')")).await;
        let has = asked.is_ok_and(|rows| rows.first().is_some_and(|row| row.integer(0) == Ok(1)));
        if has { Self::Sqlite } else { Self::None }
    }
}

/// The steps.
pub(crate) fn migrations(first: FirstIndex) -> Vec<Migration> {
    let (index, words) = match first {
        FirstIndex::Sqlite => (SQLITE_INDEX, REPLACED_INDEX),
        FirstIndex::None => (&[][..], WORDS),
    };
    vec![
        Migration::new(1, "ledger", LEDGER),
        Migration::new(2, "search", index),
        Migration::new(3, "the folder of a session", FOLDER),
        Migration::new(4, "an index of words", words),
        Migration::new(5, "large outputs", OUTPUTS),
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

const OUTPUTS: &[&str] = &[
    "CREATE TABLE agent_outputs (
    turn TEXT NOT NULL, name TEXT NOT NULL, part INTEGER NOT NULL, body BLOB NOT NULL, PRIMARY KEY (turn, name, part))",
];

const WORDS: &[&str] = &["CREATE WORD INDEX ON agent_texts (text)"];

const REPLACED_INDEX: &[&str] = &[
    "DROP TRIGGER agent_texts_added",
    "DROP TRIGGER agent_texts_removed",
    "DROP TABLE agent_texts_index",
    "CREATE WORD INDEX ON agent_texts (text)",
];

const SQLITE_INDEX: &[&str] = &[
    "CREATE VIRTUAL TABLE agent_texts_index USING fts5 (
        text, content = 'agent_texts', content_rowid = 'id', tokenize = 'unicode61 remove_diacritics 2')",
    "CREATE TRIGGER agent_texts_added AFTER INSERT ON agent_texts BEGIN
        INSERT INTO agent_texts_index (rowid, text) VALUES (new.id, new.text);
     END",
    "CREATE TRIGGER agent_texts_removed AFTER DELETE ON agent_texts BEGIN
        INSERT INTO agent_texts_index (agent_texts_index, rowid, text) VALUES ('delete', old.id, old.text);
     END",
];

#[cfg(test)]
mod tests {
    use super::*;
    use dispatch_contracts::storage::{Keys, StorageBackend as _, WordSearch};
    use ext_storage_sqlite::contract::{Location, SqliteBackend};

    #[test]
    fn a_database_of_an_earlier_version_is_searched_by_its_new_index() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let store = SqliteBackend::open(&Location::Memory).unwrap().open("conversation-store");
            let mut before = migrations(FirstIndex::of(store.as_ref()).await);
            before.truncate(3);
            store.migrate(before).await.unwrap();
            let insert = statement!(
                "INSERT INTO agent_texts (session, seq, turn, role, text) VALUES ('s', 1, 't', 'user', 'the keyboard')"
            );
            store.transact(Keys::none(), Box::new(move |tx| tx.execute(&insert).map(|_| Vec::new()))).await.unwrap();
            store.migrate(migrations(FirstIndex::of(store.as_ref()).await)).await.unwrap();
            let search = |question: &str| WordSearch {
                index: text_index(),
                columns: vec!["turn".to_owned()],
                question: question.to_owned(),
                limit: 9,
            };
            assert_eq!(store.search(search("keyb")).await.unwrap().len(), 1, "what was there is in the index");
            let delete = statement!("DELETE FROM agent_texts");
            store.transact(Keys::none(), Box::new(move |tx| tx.execute(&delete).map(|_| Vec::new()))).await.unwrap();
            assert_eq!(store.search(search("keyb")).await.unwrap().len(), 0);
            let gone = store.query(statement!("SELECT rowid FROM agent_texts_index")).await;
            assert!(gone.is_err(), "the old index is gone");
        });
    }
}
