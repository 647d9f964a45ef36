//! The files that a pattern or a folder stands for now, within a bound.

use std::fs;
use std::path::{Path, PathBuf};

use dispatch_glob::Glob;

/// More entries than this are not looked at one by one.
const MAX_ENTRIES: usize = 2_000;
const WILDCARDS: [char; 4] = ['*', '?', '[', '{'];

/// What an absolute pattern matches. A pattern that matches nothing stands for itself, as in a shell.
/// Nothing when there is too much to look at.
pub(super) fn matches(pattern: &Path) -> Option<Vec<PathBuf>> {
    let text = pattern.to_string_lossy();
    let glob = Glob::new(&text).ok()?;
    let mut found = Vec::new();
    let mut seen = 0;
    let depth = pattern.components().count();
    let mut open = vec![fixed_folder(pattern)];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
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

/// The files below a folder; nothing when there are too many.
pub(super) fn files_below(folder: &Path) -> Option<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut seen = 0;
    let mut open = vec![folder.to_path_buf()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
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
