//! Walks a tree and sets a watch on each folder before it is read, so that no file can slip in between.

use super::file_fingerprint::FileFingerprint;
use super::ignore_rules::walk_of;
use super::skipped_names::is_skipped;
use super::watches::Watches;
use dispatch_os::files::{Metadata, Stamp};
use ignore::{DirEntry, WalkState};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Walking waits for the disk more than it computes; more threads than this no longer help.
const MAX_THREADS: usize = 4;

/// What a walk found, by path relative to the workspace.
#[derive(Default)]
pub(super) struct TreeScan {
    pub(super) folders: Vec<PathBuf>,
    pub(super) files: Vec<(PathBuf, FileFingerprint)>,
}

/// Walks a folder of the workspace. The caller has made sure that the folder itself counts and is watched.
pub(super) fn scan_tree(root: &Path, below: &Path, watches: &Watches) -> TreeScan {
    let found = Arc::new(Mutex::new(TreeScan { folders: vec![below.to_owned()], files: Vec::new() }));
    let start = if below.as_os_str().is_empty() { root.to_owned() } else { root.join(below) };
    let mut walk = walk_of(&start);
    let threads = dispatch_os::threads::parallelism().min(MAX_THREADS);
    let (base, watches) = (root.to_owned(), watches.clone());
    // The filter sees a folder before it is read; the visitor only afterwards.
    walk.threads(threads).filter_entry(move |entry| {
        let counts = entry.path().strip_prefix(&base).is_ok_and(|path| !is_skipped(path));
        if counts && is_folder(entry) {
            watches.add(entry.path());
        }
        counts
    });
    walk.build_parallel().run(|| {
        let found = Arc::clone(&found);
        Box::new(move |entry| {
            if let Ok(entry) = entry {
                note(&entry, root, &found);
            }
            WalkState::Continue
        })
    });
    std::mem::take(&mut found.lock().unwrap_or_else(PoisonError::into_inner))
}

fn note(entry: &DirEntry, root: &Path, found: &Mutex<TreeScan>) {
    let Ok(path) = entry.path().strip_prefix(root) else { return };
    let print = if entry.file_type().is_some_and(|kind| kind.is_file()) {
        let Ok(metadata) = entry.metadata() else { return };
        Some(fingerprint_of(&metadata))
    } else {
        None
    };
    let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
    match print {
        Some(print) => found.files.push((path.to_owned(), print)),
        None if is_folder(entry) && entry.depth() > 0 => found.folders.push(path.to_owned()),
        None => {}
    }
}

fn is_folder(entry: &DirEntry) -> bool {
    entry.file_type().is_some_and(|kind| kind.is_dir())
}

/// What tells this content of a file from another one.
pub(super) fn fingerprint_of(found: &Metadata) -> FileFingerprint {
    let stamp = Stamp::of(found);
    FileFingerprint::of((stamp.size, stamp.modified_ns, stamp.inode))
}
