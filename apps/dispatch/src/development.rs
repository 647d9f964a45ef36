//! Folders of extensions that the user works on: whatever they contain is approved until that ends.
//!
//! The list is kept beside the approvals, where tools cannot write. It names folders, not ids: a clone with the same id
//! somewhere else is not meant.

use crate::failure::Failure;
use dispatch_os::files::{Access, ReplaceOptions, create_dir_owner_only, read_at_most, replace_with};
use std::path::{Path, PathBuf};

/// The list, below the user's data.
pub(crate) const FILE: &str = "extensions-in-development.json";
/// The largest list.
const LIMIT_BYTES: u64 = 64 * 1024;

/// The folders; none if the list cannot be read, so that nothing is approved by mistake.
pub(crate) fn folders(data: &Path) -> Vec<PathBuf> {
    let read = read_at_most(&data.join(FILE), LIMIT_BYTES).ok();
    read.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
}

/// Adds a folder; answers whether it is new.
pub(crate) fn add(data: &Path, folder: &Path) -> Result<bool, Failure> {
    let mut all = folders(data);
    if all.iter().any(|known| known == folder) {
        return Ok(false);
    }
    all.push(folder.to_path_buf());
    write(data, &all).map(|()| true)
}

/// Takes a folder out; answers whether it was there.
pub(crate) fn remove(data: &Path, folder: &Path) -> Result<bool, Failure> {
    let mut all = folders(data);
    let before = all.len();
    all.retain(|known| known != folder);
    if all.len() == before {
        return Ok(false);
    }
    write(data, &all).map(|()| true)
}

fn write(data: &Path, all: &[PathBuf]) -> Result<(), Failure> {
    create_dir_owner_only(data)?;
    let text =
        serde_json::to_vec_pretty(all).map_err(|error| Failure::internal("cannot write JSON").caused_by(&error))?;
    let options = ReplaceOptions { access: Access::OwnerOnly, ..ReplaceOptions::default() };
    Ok(replace_with(&data.join(FILE), &text, options)?)
}
