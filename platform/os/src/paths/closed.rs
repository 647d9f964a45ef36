//! Folders that file work must not reach: by no name, no link, no other spelling and no second name of a file.

use std::fs::{File, Metadata};
use std::path::{Path, PathBuf};

use super::resolve_inside;

/// The most entries of a closed folder that are compared with a file that has several names.
const MAX_COMPARED: usize = 20_000;

/// Folders that are closed to file work.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ClosedFolders {
    folders: Vec<ClosedFolder>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct ClosedFolder {
    path: PathBuf,
    /// The part of it that is open, because the work itself happens there.
    open_part: Option<PathBuf>,
}

impl ClosedFolders {
    /// Closes folders to work that starts in `start`. Where the work itself lies in one of them, the part of it
    /// that leads there stays open.
    pub(super) fn new(folders: &[&Path], start: &Path) -> Self {
        let folders = folders.iter().filter(|folder| folder.is_absolute()).map(|folder| {
            let path = resolve_inside(folder, Path::new("")).map_or_else(|_| folder.to_path_buf(), |found| found.path);
            let open_part = start.strip_prefix(&path).ok().and_then(|below| below.components().next());
            ClosedFolder { open_part: open_part.map(|name| path.join(name)), path }
        });
        Self { folders: folders.collect() }
    }

    /// Whether a path with its links resolved leads into a closed folder, however its letters are written.
    pub(super) fn hold(&self, path: &Path) -> bool {
        self.folders.iter().any(|folder| folder.holds(path))
    }

    /// Whether a closed folder lies below a path with its links resolved.
    pub(super) fn lie_below(&self, path: &Path) -> bool {
        self.folders.iter().any(|folder| folder.path.starts_with(path))
    }

    /// Whether an open file is one of a closed folder under another name.
    pub(super) fn hold_file(&self, file: &File) -> bool {
        let Ok(found) = file.metadata() else { return false };
        if self.folders.is_empty() || found.is_dir() || !has_several_names(&found) {
            return false;
        }
        let identity = identity(&found);
        let mut left = MAX_COMPARED;
        self.folders.iter().any(|folder| folder.has_file(&folder.path, identity, &mut left))
    }
}

impl ClosedFolder {
    fn holds(&self, path: &Path) -> bool {
        if self.open_part.as_ref().is_some_and(|open| path.starts_with(open)) {
            return false;
        }
        if path.starts_with(&self.path) {
            return true;
        }
        let Ok(own) = self.path.metadata() else { return false };
        let own = identity(&own);
        own.is_some() && path.ancestors().any(|above| above.metadata().is_ok_and(|found| identity(&found) == own))
    }

    fn has_file(&self, folder: &Path, wanted: FileIdentity, left: &mut usize) -> bool {
        if self.open_part.as_deref() == Some(folder) {
            return false;
        }
        let Ok(entries) = std::fs::read_dir(folder) else { return false };
        for entry in entries.flatten() {
            // A folder of ours that is larger than this is not searched to its end: what cannot be told is closed.
            let Some(rest) = left.checked_sub(1) else { return true };
            *left = rest;
            let Ok(found) = entry.path().symlink_metadata() else { continue };
            let is_it = if found.is_dir() {
                self.has_file(&entry.path(), wanted, left)
            } else {
                wanted.is_some() && identity(&found) == wanted
            };
            if is_it {
                return true;
            }
        }
        false
    }
}

/// Which disk and which file on it; `None` where the system does not say.
type FileIdentity = Option<(u64, u64)>;

#[cfg(unix)]
fn identity(found: &Metadata) -> FileIdentity {
    use std::os::unix::fs::MetadataExt;
    Some((found.dev(), found.ino()))
}

#[cfg(unix)]
fn has_several_names(found: &Metadata) -> bool {
    std::os::unix::fs::MetadataExt::nlink(found) > 1
}

#[cfg(not(unix))]
fn identity(_: &Metadata) -> FileIdentity {
    None
}

#[cfg(not(unix))]
fn has_several_names(_: &Metadata) -> bool {
    false
}
