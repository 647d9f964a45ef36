//! What scripts said of themselves, by the digest of their content: one file per workspace, which one read brings.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;

use dispatch_trust::fingerprint;

use super::Meta;
use super::cache::FolderCache;

/// More scripts than a manifest can name, so that a few edits do not empty it.
const MAX_SCRIPTS: usize = 512;

/// Below the cache of scripts.
const FOLDER: &str = "module-flags";

/// The flags of the scripts of one workspace.
pub(super) struct KnownFlags {
    folder: FolderCache,
    key: String,
    known: RefCell<BTreeMap<String, Meta>>,
}

impl KnownFlags {
    /// What an earlier process kept.
    pub(super) fn read(cache: &Path, hooks_root: &Path) -> Self {
        let folder = FolderCache::new(cache.join(FOLDER));
        let key = fingerprint(hooks_root.as_os_str().as_encoded_bytes());
        let known = folder.read(&key).and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
        Self { folder, key, known: RefCell::new(known) }
    }

    pub(super) fn get(&self, digest: &str) -> Option<Meta> {
        self.known.borrow().get(digest).cloned()
    }

    /// Keeps the flags of one more script. Of two processes that write at once the later one counts, and what is lost is
    /// found again beside it.
    pub(super) fn keep(&self, digest: &str, meta: &Meta) {
        let mut known = self.known.borrow_mut();
        if known.len() >= MAX_SCRIPTS {
            known.clear();
        }
        known.insert(digest.to_owned(), meta.clone());
        self.folder.write(&self.key, &serde_json::to_vec(&*known).unwrap_or_default());
    }
}
