//! The list through a real host, with and without storage.

#![allow(clippy::disallowed_methods, reason = "tests set up and look at real files and processes")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use dispatch_contracts::BoxFuture;
use dispatch_contracts::extension::{Extension, ExtensionError};
use dispatch_contracts::host::{Host, STORAGE};
use dispatch_contracts::migration::Migration;
use dispatch_contracts::storage::{Keys, Record, Statement, Storage, StorageBackend, StorageError, TransactionWork};
use dispatch_support::TestToolHost;
use serde_json::json;

/// Keys and values in memory, which outlive a host and can be made to fail.
#[derive(Clone, Default)]
struct FileStorage {
    values: Arc<Mutex<BTreeMap<String, Vec<u8>>>>,
    is_broken: Arc<AtomicBool>,
}

impl FileStorage {
    fn state(&self) -> Result<(), StorageError> {
        if self.is_broken.load(Ordering::Relaxed) { Err(StorageError::Busy) } else { Ok(()) }
    }
}

fn ready<T: Send + 'static>(value: T) -> BoxFuture<'static, T> {
    Box::pin(std::future::ready(value))
}

impl Storage for FileStorage {
    fn migrate(&self, _: Vec<Migration>) -> BoxFuture<'_, Result<(), StorageError>> {
        ready(Ok(()))
    }

    fn query(&self, _: Statement) -> BoxFuture<'_, Result<Vec<Record>, StorageError>> {
        ready(Ok(Vec::new()))
    }

    fn transact(&self, _: Keys, _: TransactionWork) -> BoxFuture<'_, Result<Vec<Record>, StorageError>> {
        ready(Ok(Vec::new()))
    }

    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<Vec<u8>>, StorageError>> {
        ready(self.state().map(|()| self.values.lock().unwrap().get(key).cloned()))
    }

    fn put<'a>(&'a self, key: &'a str, value: Option<Vec<u8>>) -> BoxFuture<'a, Result<(), StorageError>> {
        ready(self.state().map(|()| {
            let mut values = self.values.lock().unwrap();
            match value {
                Some(value) => values.insert(key.to_owned(), value),
                None => values.remove(key),
            };
        }))
    }

    fn keys<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Vec<String>, StorageError>> {
        ready(Ok(self.values.lock().unwrap().keys().cloned().collect()))
    }
}

impl StorageBackend for FileStorage {
    fn open(&self, _: &str) -> Arc<dyn Storage> {
        Arc::new(self.clone())
    }

    fn open_joined(&self, _: &str, _: &[&str]) -> Arc<dyn Storage> {
        Arc::new(self.clone())
    }
}

impl Extension for FileStorage {
    fn manifest(&self) -> Cow<'_, str> {
        let manifest = json!({
            "id": "storage", "name": "Storage", "version": "1.0.0", "apiVersion": "^0.2", "tier": "core",
            "contributes": {"services": ["kernel/storage"]}, "capabilities": ["db"]
        });
        Cow::Owned(manifest.to_string())
    }

    fn activate(&self, host: Host) -> BoxFuture<'_, Result<(), ExtensionError>> {
        let backend: Arc<dyn StorageBackend> = Arc::new(self.clone());
        ready(host.provide(&STORAGE, backend).map(drop).map_err(ExtensionError::new))
    }
}

fn with_storage(storage: &FileStorage) -> TestToolHost {
    TestToolHost::new(vec![Arc::new(storage.clone()), ext_tool_todo::extension()], Path::new("/work"), &[])
}

#[test]
fn a_list_belongs_to_its_session() {
    let mut rig = TestToolHost::new(vec![ext_tool_todo::extension()], Path::new("/work"), &[]);
    assert_eq!(rig.text("todo", json!({})), "The list is empty.");
    let items = json!({"items": [{"text": "look", "status": "done"}, {"text": "fix", "status": "in_progress"}]});
    let shown = rig.text("todo", items);
    assert_eq!(shown, "[x] look\n[>] fix\n1 done, 1 in progress, 0 pending.");
    assert_eq!(rig.text("todo", json!({})), shown);
    rig.session = "another".to_owned();
    assert_eq!(rig.text("todo", json!({})), "The list is empty.");
    rig.session = "session".to_owned();
    assert_eq!(rig.text("todo", json!({"items": []})), "The list is empty.");
}

#[test]
fn wrong_items_change_nothing() {
    let rig = TestToolHost::new(vec![ext_tool_todo::extension()], Path::new("/work"), &[]);
    rig.text("todo", json!({"items": [{"text": "keep", "status": "pending"}]}));
    for arguments in [
        json!({"items": [{"text": "x"}]}),
        json!({"items": [{"text": "x", "status": "started"}]}),
        json!({"items": [{"text": " ", "status": "done"}]}),
        json!({"items": "x"}),
        json!({"list": []}),
    ] {
        rig.refusal("todo", arguments);
    }
    assert!(rig.text("todo", json!({})).starts_with("[ ] keep"));
}

#[test]
fn a_list_survives_a_restart_and_a_storage_that_fails() {
    let storage = FileStorage::default();
    let rig = with_storage(&storage);
    rig.text("todo", json!({"items": [{"text": "first", "status": "pending"}]}));
    assert!(with_storage(&storage).text("todo", json!({})).starts_with("[ ] first"));
    storage.is_broken.store(true, Ordering::Relaxed);
    rig.text("todo", json!({"items": [{"text": "second", "status": "pending"}]}));
    assert!(rig.text("todo", json!({})).starts_with("[ ] second"));
    assert!(rig.logged().iter().any(|line| line.contains("in memory only")), "{:?}", rig.logged());
    storage.is_broken.store(false, Ordering::Relaxed);
    assert!(rig.text("todo", json!({})).starts_with("[ ] second"), "what memory has is newer");
    rig.text("todo", json!({"items": [{"text": "third", "status": "pending"}]}));
    assert!(with_storage(&storage).text("todo", json!({})).starts_with("[ ] third"));
    storage.values.lock().unwrap().values_mut().for_each(|value| value.truncate(3));
    assert_eq!(with_storage(&storage).text("todo", json!({})), "The list is empty.");
}
