//! Expands a glob or a folder to its files, within a limit.

use std::path::{Path, PathBuf};

use dispatch_glob::Glob;
use dispatch_os::files;

/// The most entries that are read.
const MAX_ENTRIES: usize = 2_000;
const WILDCARDS: [char; 4] = ['*', '?', '[', '{'];

/// The paths that an absolute pattern matches. A pattern without a match is returned itself, as in a shell.
/// `None` when there are too many entries.
pub(super) fn matches(pattern: &Path) -> Option<Vec<PathBuf>> {
    let text = pattern.to_string_lossy();
    let glob = Glob::new(&text).ok()?;
    let mut found = Vec::new();
    let mut seen = 0;
    let depth = pattern.components().count();
    let mut open = vec![fixed_folder(pattern)];
    while let Some(folder) = open.pop() {
        for entry in files::read_dir(&folder).into_iter().flatten().flatten() {
            seen += 1;
            if seen > MAX_ENTRIES {
                return None;
            }
            let path = entry.path();
            if glob.is_match(&path.to_string_lossy()) {
                found.push(path);
            } else if (text.contains("**") || path.components().count() < depth)
                && entry.file_type().is_ok_and(|kind| kind.is_dir())
            {
                open.push(path);
            }
        }
    }
    if found.is_empty() {
        found.push(pattern.to_path_buf());
    }
    Some(found)
}

/// The part of a pattern before its first wildcard.
pub(super) fn fixed_folder(pattern: &Path) -> PathBuf {
    let plain = |part: &std::path::Component<'_>| !part.as_os_str().to_string_lossy().contains(WILDCARDS);
    pattern.components().take_while(plain).collect()
}

/// The files below a folder; `None` when there are too many.
pub(super) fn files_below(folder: &Path) -> Option<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut seen = 0;
    let mut open = vec![folder.to_path_buf()];
    while let Some(folder) = open.pop() {
        for entry in files::read_dir(&folder).into_iter().flatten().flatten() {
            seen += 1;
            if seen > MAX_ENTRIES {
                return None;
            }
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => open.push(entry.path()),
                _ => found.push(entry.path()),
            }
        }
    }
    Some(found)
}
