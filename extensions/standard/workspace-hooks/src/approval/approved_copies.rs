//! Copies of files that the user approved with a hook, without secrets, so that a later approval can show what has
//! changed.

use dispatch_os::files::{self, ReplaceOptions, create_dir_owner_only, read_at_most, remove_file, replace_with};
use dispatch_os::{Access, Durability, OsError};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const FOLDER: &str = "approved-files";
/// Of a larger file only the hash is kept.
const MAX_COPY_BYTES: u64 = 256 * 1024;

/// The folder of copies, each named by its hash.
pub(super) struct ApprovedCopies {
    folder: PathBuf,
}

impl ApprovedCopies {
    pub(super) fn beside(approvals_file: &Path) -> Self {
        Self { folder: approvals_file.with_file_name(FOLDER) }
    }

    /// Keeps a text under the hash of the file that it is of, for the owner alone.
    pub(super) fn keep(&self, hash: &str, text: &str) -> Result<(), OsError> {
        let copy = self.folder.join(hash);
        if files::exists(&copy) {
            return Ok(());
        }
        create_dir_owner_only(&self.folder)?;
        let options =
            ReplaceOptions { durability: Durability::Content, access: Access::OwnerOnly, ..ReplaceOptions::default() };
        replace_with(&copy, text.as_bytes(), options)
    }

    /// What was approved under this hash, if it is text of a moderate size.
    pub(super) fn text(&self, hash: &str) -> Option<String> {
        text_of(&self.folder.join(hash))
    }

    /// Removes every copy that no approval is about. One that cannot be removed does no harm.
    pub(super) fn retain(&self, hashes: &BTreeSet<&str>) {
        for entry in files::read_dir(&self.folder).into_iter().flatten().flatten() {
            if entry.file_name().to_str().is_none_or(|name| !hashes.contains(name)) {
                let _ = remove_file(entry.path());
            }
        }
    }
}

/// The text of a file, if it is one of a moderate size.
pub(super) fn text_of(file: &Path) -> Option<String> {
    String::from_utf8(read_at_most(file, MAX_COPY_BYTES).ok()?).ok()
}
