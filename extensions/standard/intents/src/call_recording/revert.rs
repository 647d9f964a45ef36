//! Reverts a file to its content before a call.

use std::path::Path;

use dispatch_os::files;

use crate::content_store::{ObservedFile, observe};

/// Reverts a file; returns whether it has its old content. A file whose old content is unknown stays.
pub(super) fn revert_file(root: &Path, path: &str, before: &ObservedFile) -> bool {
    if before.problem.is_some() {
        return false;
    }
    let full = root.join(path);
    let Some(hash) = &before.hash else {
        return files::remove_file(&full).is_ok();
    };
    let Some(bytes) = &before.bytes else {
        return false;
    };
    let is_link = files::is_symlink(&full);
    if is_link && files::remove_file(&full).is_err() {
        return false;
    }
    let made = full.parent().is_none_or(|folder| files::create_dir_all(folder).is_ok());
    made && files::replace(&full, bytes).is_ok() && observe(&full).hash.as_ref() == Some(hash)
}
