//! A folder of small files by key, for the user alone.

use std::path::PathBuf;

use dispatch_os::Access;
use dispatch_os::files::{ReplaceOptions, create_dir_owner_only, read_at_most, replace_with};
use dispatch_script::SourceCache;

const ENTRY_LIMIT_BYTES: u64 = 16 * 1024 * 1024;

/// Files by key. Whatever fails is a miss.
pub(super) struct FolderCache {
    folder: PathBuf,
}

impl FolderCache {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    pub(super) fn read(&self, key: &str) -> Option<Vec<u8>> {
        read_at_most(&self.folder.join(file_name(key)?), ENTRY_LIMIT_BYTES).ok()
    }

    pub(super) fn write(&self, key: &str, bytes: &[u8]) {
        let Some(name) = file_name(key) else {
            return;
        };
        let options = ReplaceOptions { access: Access::OwnerOnly, ..ReplaceOptions::default() };
        let _ =
            create_dir_owner_only(&self.folder).and_then(|()| replace_with(&self.folder.join(name), bytes, options));
    }
}

impl SourceCache for FolderCache {
    fn get(&self, key: &str) -> Option<Vec<u8>> {
        self.read(key)
    }

    fn put(&self, key: &str, bytes: &[u8]) {
        self.write(key, bytes);
    }
}

fn file_name(key: &str) -> Option<&str> {
    (!key.is_empty() && key.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(key)
}
