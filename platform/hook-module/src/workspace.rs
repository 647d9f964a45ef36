//! Finds the workspace that a folder belongs to.

use std::path::{Path, PathBuf};

use dispatch_os::files;
use dispatch_os::paths::normalise_path;

use crate::context::HOOKS_FOLDER;

/// The most parent folders that are looked at.
const MAX_ANCESTORS: usize = 256;

/// The workspace of a folder, with or without rules: the nearest with `.ai/hooks`, else with `.git`, else itself.
#[must_use]
pub fn find_workspace(start: &Path) -> PathBuf {
    let start = normalise_path(start);
    nearest_with_rules(&start).or_else(|| nearest(&start, |folder| files::exists(folder.join(".git")))).unwrap_or(start)
}

/// The nearest folder with `.ai/hooks`, from `start` upwards.
#[must_use]
pub fn nearest_with_rules(start: &Path) -> Option<PathBuf> {
    nearest(start, has_rules)
}

/// Whether a folder has rules. Rules that may be there and cannot be looked at count: what cannot be read is not absent.
#[must_use]
pub fn has_rules(folder: &Path) -> bool {
    match files::metadata(folder.join(HOOKS_FOLDER)) {
        Ok(found) => found.is_dir(),
        Err(error) => error.kind() == std::io::ErrorKind::PermissionDenied,
    }
}

fn nearest(start: &Path, is_root: impl Fn(&Path) -> bool) -> Option<PathBuf> {
    start.ancestors().take(MAX_ANCESTORS).find(|folder| is_root(folder)).map(Path::to_path_buf)
}
