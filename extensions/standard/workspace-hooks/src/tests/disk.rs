//! A workspace in memory: files with their content, and who wrote it.

use crate::contract::ContentHash;
use crate::engine::FileHashes;
use dispatch_contracts::BoxFuture;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Mutex;

/// Who gave a file its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileAuthor {
    Person,
    Run,
}

/// Files. Their content is its own hash.
#[derive(Default)]
pub(super) struct SimulatedDisk {
    files: Mutex<BTreeMap<String, (String, FileAuthor)>>,
    unreported: Mutex<BTreeSet<String>>,
}

impl SimulatedDisk {
    pub(super) fn write(&self, path: &str, content: &str, author: FileAuthor) {
        self.files.lock().unwrap().insert(path.to_owned(), (content.to_owned(), author));
        self.unreported.lock().unwrap().insert(path.to_owned());
    }

    pub(super) fn remove(&self, path: &str) {
        self.files.lock().unwrap().remove(path);
        self.unreported.lock().unwrap().insert(path.to_owned());
    }

    pub(super) fn content(&self, path: &str) -> Option<ContentHash> {
        self.files.lock().unwrap().get(path).map(|(content, _)| content.clone())
    }

    pub(super) fn all(&self) -> BTreeMap<String, (String, FileAuthor)> {
        self.files.lock().unwrap().clone()
    }

    /// The files that changed since this was asked last.
    pub(super) fn take_unreported(&self) -> BTreeSet<String> {
        std::mem::take(&mut *self.unreported.lock().unwrap())
    }
}

impl FileHashes for SimulatedDisk {
    fn hashes<'a>(&'a self, _workspace: &'a Path, paths: Vec<String>) -> BoxFuture<'a, Vec<Option<ContentHash>>> {
        let hashes = paths.iter().map(|path| self.content(path)).collect();
        Box::pin(std::future::ready(hashes))
    }
}
