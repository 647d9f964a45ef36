//! Queries of the ledger: log, verification, blame, coverage, export and report.

pub(crate) mod amended_commit;
pub(crate) mod anchor;
pub(crate) mod blame;
pub(crate) mod check;
pub(crate) mod export;
pub(crate) mod filter;
pub(crate) mod git_diff;
pub(crate) mod git_repository;
pub(crate) mod history;
pub(crate) mod ledger_history;
pub(crate) mod line_diff;
pub(crate) mod report;
#[cfg(test)]
pub(crate) mod samples;
pub(crate) mod sarif;
pub(crate) mod summary;
pub(crate) mod trailers;
pub(crate) mod uncovered_lines;
pub(crate) mod verify;

use std::path::{Component, Path, PathBuf};

use dispatch_os::files;

use crate::content_store;
use crate::hash::{PREFIX, content_hash};
use crate::layout::OrchestrationLayout;
use crate::query::blame::MAX_BLAMED_BYTES;

/// The content with this hash, if it is stored on this machine.
#[must_use]
pub(crate) fn stored_content(layout: &OrchestrationLayout, hash: &str) -> Option<Vec<u8>> {
    // The hash may come from a foreign ledger and must not select another file.
    let digits = hash.strip_prefix(PREFIX)?;
    let plain = digits.len() == 64 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    plain.then(|| content_store::load(layout, hash)).flatten()
}

/// The hash of a file as it is now; empty if it cannot be read, `None` if there is none inside the workspace.
#[must_use]
pub(crate) fn present_hash(layout: &OrchestrationLayout, path: &str) -> Option<String> {
    let place = inside(&layout.root, path).filter(|place| files::exists(place))?;
    Some(files::read_at_most(&place, MAX_BLAMED_BYTES).map(|content| content_hash(&content)).unwrap_or_default())
}

/// The location of a path of the ledger, if it is inside the workspace.
fn inside(root: &Path, relative: &str) -> Option<PathBuf> {
    let path = Path::new(relative);
    let plain = path.components().all(|part| matches!(part, Component::Normal(_)));
    (plain && !relative.is_empty()).then(|| root.join(path))
}
