//! What goes in comes out: columns, keys and values, at their extremes.

use super::{change, rows};
use dispatch_contracts::migration::Migration;
use dispatch_contracts::statement;
use dispatch_contracts::storage::{SqlValue, StorageBackend};
use std::sync::Arc;

const ODD_TEXTS: &[&str] =
    &["", " ", "a'b\"c;--", "na\u{ef}ve \u{1f980} \u{202e}x", "\r\n\t", "\u{10ffff}\u{feff}", "%_\\"];
const LARGE_BYTES: usize = 8 * 1024 * 1024;

pub(super) async fn columns(backend: Arc<dyn StorageBackend>) {
    const STEPS: &[Migration] = &[Migration::new(
        1,
        "things",
        &["CREATE TABLE things (id INTEGER PRIMARY KEY, i INTEGER, r REAL, t TEXT, b BLOB)"],
    )];
    let store = backend.open("a");
    store.migrate(STEPS.to_vec()).await.expect("a table can be made");
    let integers = [i64::MIN, -1, 0, 1, i64::MAX].map(SqlValue::Integer);
    let reals = [f64::MIN, -0.5, f64::MIN_POSITIVE, 0.1 + 0.2, f64::MAX].map(SqlValue::Real);
    let texts = ODD_TEXTS.iter().map(|text| SqlValue::from(*text));
    let blobs = [vec![], vec![0], vec![0, 255, 0], (0..=255).collect()].map(SqlValue::Blob);
    let cases = integers.map(|value| ("i", value)).into_iter();
    let cases = cases.chain(reals.map(|value| ("r", value))).chain(texts.map(|value| ("t", value)));
    let cases = cases.chain(blobs.map(|value| ("b", value)));
    let cases = cases.chain(["i", "r", "t", "b"].map(|column| (column, SqlValue::Null)));
    for (column, value) in cases {
        change(&store, statement!("DELETE FROM things")).await.expect("rows can go");
        let insert = format!("INSERT INTO things (id, {column}) VALUES (1, ?1)");
        change(&store, statement!(insert, value.clone())).await.expect("a value can be kept");
        let found = rows(&store, statement!(format!("SELECT {column}, {column} IS NULL FROM things"))).await;
        let is_null = SqlValue::from(value == SqlValue::Null);
        assert_eq!(found, [[value, is_null]]);
    }
}

pub(super) async fn large(backend: Arc<dyn StorageBackend>) {
    // Not in an index: some databases keep only short text there.
    const STEPS: &[Migration] =
        &[Migration::new(1, "texts", &["CREATE TABLE texts (id INTEGER PRIMARY KEY, body TEXT)"])];
    let store = backend.open("a");
    store.migrate(STEPS.to_vec()).await.expect("a table can be made");
    let text = "\u{e9}x".repeat(LARGE_BYTES / 3);
    change(&store, statement!("INSERT INTO texts (id, body) VALUES (1, ?1)", text.as_str())).await.expect("it fits");
    assert_eq!(rows(&store, statement!("SELECT body FROM texts")).await, [[SqlValue::from(text)]]);
    let bytes: Vec<u8> = (0..LARGE_BYTES).map(|at| u8::try_from(at % 251).unwrap_or_default()).collect();
    store.put("large", Some(bytes.clone())).await.expect("it fits");
    assert!(store.get("large").await == Ok(Some(bytes)), "a large value came back changed");
}

pub(super) async fn keys(backend: Arc<dyn StorageBackend>) {
    let store = backend.open("a");
    assert_eq!(store.get("missing").await, Ok(None));
    store.put("missing", None).await.expect("removing nothing is fine");
    let mut names = vec!["a", "a/b", "a/b\u{10ffff}", "a/b\0c", "a0", "b", "\u{1f980}", "caf\u{e9}", "A", "%", "_"];
    for (number, name) in (0..).zip(&names) {
        store.put(name, Some(vec![number, 0, 255])).await.expect("a key can be kept");
    }
    store.put("a", Some(Vec::new())).await.expect("a value can be replaced, also by nothing");
    assert_eq!(store.get("a").await, Ok(Some(Vec::new())));
    assert_eq!(store.get("a/b").await, Ok(Some(vec![1, 0, 255])));
    names.sort_unstable();
    assert_eq!(store.keys("").await.expect("keys can be listed"), names);
    let below = ["a/b", "a/b\0c", "a/b\u{10ffff}"];
    assert_eq!(store.keys("a/").await.expect("keys can be listed"), below, "in order, and nothing else");
    assert_eq!(store.keys("%").await.expect("keys can be listed"), ["%"], "a prefix is no pattern");
    store.put("a/b", None).await.expect("a key can be removed");
    assert_eq!(store.get("a/b").await, Ok(None));
    assert_eq!(store.keys("a/").await.expect("keys can be listed").len(), 2);
    let long = "k".repeat(64 * 1024);
    assert!(store.put(&long, Some(vec![1])).await.is_err(), "a key has a limit");
}

pub(super) async fn keys_apart(backend: Arc<dyn StorageBackend>) {
    let (a, b) = (backend.open("a"), backend.open_joined("b", &["a"]));
    a.put("k", Some(vec![1])).await.expect("a key can be kept");
    b.put("k", Some(vec![2])).await.expect("a key can be kept");
    assert_eq!(a.get("k").await, Ok(Some(vec![1])));
    assert_eq!(b.get("k").await, Ok(Some(vec![2])), "keys are those of the first namespace");
    b.put("k", None).await.expect("a key can be removed");
    assert_eq!(a.keys("").await.expect("keys can be listed"), ["k"]);
}
