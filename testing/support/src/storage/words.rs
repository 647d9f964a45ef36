//! Text is found by its words, by the same questions on every backend.

use super::{change, rows};
use dispatch_contracts::migration::Migration;
use dispatch_contracts::statement;
use dispatch_contracts::storage::{Columns, SqlValue, Storage, StorageBackend, StorageError, WordIndex, WordSearch};
use std::sync::Arc;

const TEXTS: Migration =
    Migration::new(1, "texts", &["CREATE TABLE texts (id INTEGER PRIMARY KEY, body TEXT NOT NULL, mark TEXT)"]);
const INDEX: Migration = Migration::new(2, "words", &["CREATE WORD INDEX ON texts (body)"]);

/// What is kept: key and text.
const KEPT: &[(i64, &str)] = &[
    (1, "Where is the Keyboard? Under the 100% table_top."),
    (2, "the mouse said: \"AND then, OR not\"; it's a foo-bar at https://example.com/some/path?q=1"),
    (3, "R\u{e9}sum\u{e9} \u{fc}ber \u{c4}rger in Stra\u{df}e, na\u{ef}ve cafe\u{301}"),
    (
        4,
        "\u{41c}\u{43e}\u{441}\u{43a}\u{432}\u{430} \u{39f}\u{394}\u{39f}\u{3a3} \u{6771}\u{4eac}\u{30bf}\u{30ef}\u{30fc}",
    ),
    (5, "mail me@example.org or 3.14 -5 1e5 0x1F <b>tag</b> &amp; snake_case C++ \u{1f980} v1.2.3"),
    (6, "   \t\r\n "),
    (7, "mouse mouse mouse and the keyboards"),
];

/// A question, and the keys of what is found for it.
const ASKED: &[(&str, &[i64])] = &[
    ("keyboard", &[7, 1]),
    ("KEYBOARDS", &[7]),
    ("key", &[7, 1]),
    ("eyboard", &[]),
    ("the mouse", &[7, 2]),
    ("mouse the", &[7, 2]),
    ("mouse under", &[]),
    ("100% table_top", &[1]),
    ("1_0", &[5]),
    ("9_0", &[]),
    ("\"", &[]),
    ("\"AND", &[7, 2]),
    ("AND", &[7, 2]),
    ("OR not", &[2]),
    ("NOT mouse", &[2]),
    ("NEAR(mouse keyboards, 1)", &[]),
    ("mouse*", &[7, 2]),
    ("body:mouse", &[]),
    ("it's", &[2]),
    ("' OR 1=1 --", &[5, 2]),
    ("foo-bar", &[2]),
    ("bar", &[2]),
    ("path", &[2]),
    ("example", &[5, 2]),
    ("resume", &[3]),
    ("R\u{c9}SUM\u{c9}", &[3]),
    ("re\u{301}sume\u{301}", &[3]),
    ("uber arger", &[3]),
    ("\u{dc}BER", &[3]),
    ("stra\u{df}e", &[3]),
    ("strasse", &[]),
    ("naive caf\u{e9}", &[3]),
    ("\u{43c}\u{43e}\u{441}", &[4]),
    ("\u{3bf}\u{3b4}\u{3bf}\u{3c2}", &[4]),
    ("\u{6771}\u{4eac}", &[4]),
    ("\u{30bf}\u{30ef}", &[]),
    ("3.14", &[5]),
    ("1e5 0x1f", &[5]),
    ("1.2.3", &[5]),
    ("amp tag", &[5]),
    ("case", &[5]),
    ("\u{1f980}", &[]),
    ("c\0tag", &[5]),
    ("\0", &[]),
    ("", &[]),
    ("  ", &[]),
    ("\\ % _ & | ! ( ) : * <->", &[]),
];

fn search(question: &str, limit: u32) -> WordSearch {
    let columns = vec!["id".to_owned(), "mark".to_owned()];
    WordSearch { index: WordIndex::on("texts", "body"), columns, question: question.to_owned(), limit }
}

async fn found(store: &Arc<dyn Storage>, question: &str) -> Vec<i64> {
    let found = store.search(search(question, 10)).await.unwrap_or_else(|error| panic!("{question}: {error}"));
    found.iter().map(|record| record.integer(0).expect("a key")).collect()
}

pub(super) async fn found_by_words(backend: Arc<dyn StorageBackend>) {
    let store = backend.open("a");
    store.migrate(vec![TEXTS]).await.expect("a table can be made");
    let keep = |id: i64, body: &str| {
        change(&store, statement!("INSERT INTO texts (id, body, mark) VALUES (?1, ?2, 'x')", id, body))
    };
    let (before, behind) = KEPT.split_at(4);
    for (id, body) in before {
        keep(*id, body).await.expect("it fits");
    }
    store.migrate(vec![TEXTS, INDEX]).await.expect("an index can be made over what is there");
    for (id, body) in behind {
        keep(*id, body).await.expect("it fits");
    }
    for (question, expected) in ASKED {
        assert_eq!(found(&store, question).await, *expected, "{question}");
    }
    let first = store.search(search("mouse", 1)).await.expect("it is asked");
    assert_eq!(first, [[SqlValue::from(7_i64), SqlValue::from("x")]], "the newest, with the wanted columns");
    change(&store, statement!("UPDATE texts SET body = 'a cat' WHERE id = 7")).await.expect("it changes");
    change(&store, statement!("DELETE FROM texts WHERE id = 1")).await.expect("it goes");
    assert_eq!(found(&store, "keyboard").await, [0_i64; 0], "what changed or went is not found");
    assert_eq!(found(&store, "cat").await, [7]);
}

pub(super) async fn large(backend: Arc<dyn StorageBackend>) {
    let store = backend.open("a");
    store.migrate(vec![TEXTS, INDEX]).await.expect("an index can be made");
    let numbers: String = (0..400_000_u32).map(|number| format!("w{number:x} ")).collect();
    for text in [numbers, format!("begin {}", "y".repeat(100_000))] {
        change(&store, statement!("INSERT INTO texts (body) VALUES (?1)", text)).await.expect("it fits");
    }
    assert_eq!(found(&store, "w1f4").await, [1], "the beginning of a long text is found");
    assert_eq!(found(&store, &"y".repeat(3_000)).await, [2], "and so is a long word");
}

pub(super) async fn apart(backend: Arc<dyn StorageBackend>) {
    let (store, other) = (backend.open("a"), backend.open("b"));
    store.migrate(vec![TEXTS, INDEX]).await.expect("an index can be made");
    for question in ["x", ""] {
        let outcome = other.search(search(question, 1)).await;
        let refused = matches!(outcome, Err(StorageError::Statement(_)));
        assert!(refused || outcome == Ok(Vec::new()) && question.is_empty(), "{outcome:?}");
    }
    let missing = WordSearch { columns: vec!["\"; DROP TABLE texts".to_owned()], ..search("x", 1) };
    assert!(matches!(store.search(missing).await, Err(StorageError::Statement(_))));
    let foreign = other.migrate(vec![Migration::new(1, "theirs", &["CREATE WORD INDEX ON texts (body)"])]).await;
    assert!(foreign.is_err(), "an index is made by the owner of the table");
    assert!(rows(&store, statement!("SELECT id FROM texts")).await.is_empty());
}
