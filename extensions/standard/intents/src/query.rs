//! Asking the ledger: what happened, whether it is whole, who wrote which line, and what no intent covers.

pub mod anchor;
pub mod diff;
#[cfg(test)]
mod samples;
pub mod verify;

use std::path::{Component, Path, PathBuf};

/// The place of a path of the ledger, if it stays inside the workspace.
fn inside(root: &Path, relative: &str) -> Option<PathBuf> {
    let path = Path::new(relative);
    let plain = path.components().all(|part| matches!(part, Component::Normal(_)));
    (plain && !relative.is_empty()).then(|| root.join(path))
}
