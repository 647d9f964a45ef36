//! Puts a file back to what it was before a call.

use std::fs;
use std::path::Path;

use dispatch_os::files;

use crate::contents::{Look, look};

/// Whether the file is as it was, after trying. What is not known to have been cannot be put back.
pub(super) fn put_back(root: &Path, path: &str, before: &Look) -> bool {
    if before.problem.is_some() {
        return false;
    }
    let full = root.join(path);
    let Some(hash) = &before.hash else {
        return fs::remove_file(&full).is_ok();
    };
    let Some(bytes) = &before.bytes else {
        return false;
    };
    let is_link = full.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink());
    if is_link && fs::remove_file(&full).is_err() {
        return false;
    }
    let made = full.parent().is_none_or(|folder| fs::create_dir_all(folder).is_ok());
    made && files::replace(&full, bytes).is_ok() && look(&full).hash.as_ref() == Some(hash)
}
