//! A folder that is gone when nobody needs it any more.

use crate::failure::Failure;
use dispatch_os::files::{create_dir_owner_only, remove_dir_all};
use dispatch_os::ids::hex_id;
use std::path::{Path, PathBuf};

/// Letters that tell two folders apart.
const ID_LETTERS: usize = 12;

/// A new folder below a cache folder; dropping it deletes it.
pub(super) struct ScratchFolder(PathBuf);

impl ScratchFolder {
    pub(super) fn below(cache: &Path, purpose: &str) -> Result<Self, Failure> {
        let path = cache.join(format!("{purpose}-{}", hex_id(ID_LETTERS)));
        create_dir_owner_only(&path)?;
        Ok(Self(path))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for ScratchFolder {
    fn drop(&mut self) {
        // What cannot be deleted lies in the cache, where the user may delete everything.
        let _ = remove_dir_all(&self.0);
    }
}
