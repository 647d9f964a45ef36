//! Asking the ledger: what happened, whether it is whole, who wrote which line, and what no intent covers.

pub mod anchor;
pub mod blame;
pub mod check;
pub mod diff;
pub mod export;
pub mod filter;
pub mod git;
pub mod history;
pub mod patch;
pub mod report;
#[cfg(test)]
mod samples;
pub mod sarif;
pub mod summary;
pub mod trailers;
pub mod verify;

use std::path::{Component, Path, PathBuf};

use crate::contents;
use crate::hash::PREFIX;
use crate::layout::Layout;

/// The content with this hash, if it was kept on this machine.
#[must_use]
pub fn kept_content(layout: &Layout, hash: &str) -> Option<Vec<u8>> {
    // A ledger from elsewhere must not choose which files are opened.
    let digits = hash.strip_prefix(PREFIX)?;
    let plain = digits.len() == 64 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    plain.then(|| contents::kept(layout, hash)).flatten()
}

/// The place of a path of the ledger, if it stays inside the workspace.
fn inside(root: &Path, relative: &str) -> Option<PathBuf> {
    let path = Path::new(relative);
    let plain = path.components().all(|part| matches!(part, Component::Normal(_)));
    (plain && !relative.is_empty()).then(|| root.join(path))
}
