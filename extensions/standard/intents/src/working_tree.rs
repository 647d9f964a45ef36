//! Compares the working tree before and after a call to find every changed file.

mod git;
mod walk;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use dispatch_os::Deadline;
use serde::{Deserialize, Serialize};

use crate::call_targets::is_untraced;
use crate::content_store::{self, ObservedFile};
use crate::layout::OrchestrationLayout;

/// The most changed files with an entry each.
pub(crate) const MAX_CHANGES: usize = 1_000;
/// The most files, and bytes of them, that are read for one snapshot.
const MAX_READ_FILES: usize = 2_000;
const MAX_READ_BYTES: u64 = 64 * 1024 * 1024;

/// The state of a tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum TreeSnapshot {
    /// From git: the commit, and the hash of every file that differs from it.
    Git {
        /// The commit; `None` before the first.
        head: Option<String>,
        /// Files that differ from it or are not in it, with their hashes.
        dirty: BTreeMap<String, Option<String>>,
    },
    /// From the metadata of every file.
    Walk {
        /// Every file.
        files: BTreeMap<String, walk::WalkedFile>,
    },
    /// The snapshot failed.
    Missing {
        /// Why.
        why: String,
    },
}

/// A file that changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ChangedFile {
    /// From the workspace's root.
    pub path: String,
    /// Before.
    pub before: ObservedFile,
    /// After.
    pub after: ObservedFile,
    /// Whether it differed from its commit before.
    pub was_dirty: bool,
    /// Whether it equals its commit now.
    pub is_restored: bool,
}

impl ChangedFile {
    /// A file whose commit is not known.
    pub(crate) fn named(path: &str, before: Option<String>, after: ObservedFile) -> Self {
        let before = ObservedFile { hash: before, bytes: None, problem: None };
        Self { path: path.to_owned(), before, after, was_dirty: false, is_restored: false }
    }
}

/// What changed between a snapshot and now.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TreeChanges {
    /// The files.
    pub files: Vec<ChangedFile>,
    /// Why there may be more changes.
    pub incomplete: Option<String>,
}

/// Whether the ledger on disk is the version in the commit of HEAD.
#[must_use]
pub(crate) fn is_committed_ledger(layout: &OrchestrationLayout, deadline: Deadline) -> bool {
    git::is_repository(&layout.root) && git::is_committed_ledger(layout, deadline)
}

/// The content of a file in the commit of HEAD.
#[must_use]
pub(crate) fn committed_content(layout: &OrchestrationLayout, path: &str, time: Duration) -> Option<Vec<u8>> {
    if !git::is_repository(&layout.root) {
        return None;
    }
    git::contents(layout, Some("HEAD"), &[path], Deadline::after(time)).ok()?.remove(path)
}

/// The paths among these that git ignores.
#[must_use]
pub(crate) fn ignored(layout: &OrchestrationLayout, paths: &[&str], time: Duration) -> BTreeSet<String> {
    if !git::is_repository(&layout.root) || paths.is_empty() {
        return BTreeSet::new();
    }
    git::ignored(layout, paths, Deadline::after(time)).unwrap_or_default()
}

/// The paths among these that git tracks.
#[must_use]
pub(crate) fn tracked(layout: &OrchestrationLayout, paths: &[&str], time: Duration) -> BTreeSet<String> {
    if !git::is_repository(&layout.root) || paths.is_empty() {
        return BTreeSet::new();
    }
    git::tracked(layout, paths, Deadline::after(time)).unwrap_or_default()
}

/// Takes a snapshot within a time limit. Contents that may be needed later are stored.
#[must_use]
pub(crate) fn snapshot(layout: &OrchestrationLayout, time: Duration) -> TreeSnapshot {
    let deadline = Deadline::after(time);
    if !git::is_repository(&layout.root) {
        return walk::snapshot(layout, deadline);
    }
    let taken = git::status(layout, deadline).and_then(|status| {
        let mut reader = TreeReader::new(layout, deadline);
        let mut dirty = BTreeMap::new();
        for path in status.paths {
            let observed = reader.observe(&path)?;
            dirty.insert(path, observed.hash);
        }
        Ok(TreeSnapshot::Git { head: status.head, dirty })
    });
    taken.unwrap_or_else(|why| TreeSnapshot::Missing { why })
}

/// Compares the tree with a snapshot.
#[must_use]
pub(crate) fn changes(layout: &OrchestrationLayout, before: &TreeSnapshot, time: Duration) -> TreeChanges {
    let deadline = Deadline::after(time);
    let found = match before {
        TreeSnapshot::Missing { why } => Err(why.clone()),
        TreeSnapshot::Walk { files } => walk::changes(layout, files, deadline),
        TreeSnapshot::Git { head, dirty } => git_changes(layout, head.as_deref(), dirty, deadline),
    };
    let mut changes = match found {
        Ok(files) => TreeChanges { files, incomplete: None },
        Err(why) => TreeChanges { files: Vec::new(), incomplete: Some(why) },
    };
    if changes.files.len() > MAX_CHANGES {
        changes.incomplete =
            Some(format!("{} files changed; only the first {MAX_CHANGES} are recorded", changes.files.len()));
        changes.files.truncate(MAX_CHANGES);
    }
    changes
}

fn git_changes(
    layout: &OrchestrationLayout,
    head: Option<&str>,
    dirty: &BTreeMap<String, Option<String>>,
    deadline: Deadline,
) -> Result<Vec<ChangedFile>, String> {
    let status = git::status(layout, deadline)?;
    let mut candidates: BTreeSet<String> = dirty.keys().cloned().collect();
    let now_dirty = status.paths.clone();
    candidates.extend(status.paths);
    if status.head.as_deref() != head {
        candidates.extend(git::changed_between(layout, head, status.head.as_deref(), deadline)?);
    }
    let clean: Vec<&str> = candidates.iter().filter(|path| !dirty.contains_key(*path)).map(String::as_str).collect();
    let mut committed = git::contents(layout, head, &clean, deadline)?;
    let mut reader = TreeReader::new(layout, deadline);
    let mut found = Vec::new();
    for path in &candidates {
        let after = reader.observe(path)?;
        let before = match dirty.get(path) {
            Some(hash) => ObservedFile { hash: hash.clone(), bytes: None, problem: None },
            None => committed.remove(path).map(ObservedFile::of_bytes).unwrap_or_default(),
        };
        if before.hash != after.hash {
            content_store::store(layout, path, &before);
            let (was_dirty, is_restored) = (dirty.contains_key(path), !now_dirty.contains(path));
            found.push(ChangedFile { path: path.clone(), before, after, was_dirty, is_restored });
        }
    }
    Ok(found)
}

/// Reads files and stores their contents, within the limits of time and size.
struct TreeReader<'a> {
    layout: &'a OrchestrationLayout,
    deadline: Deadline,
    files: usize,
    bytes: u64,
}

impl<'a> TreeReader<'a> {
    fn new(layout: &'a OrchestrationLayout, deadline: Deadline) -> Self {
        Self { layout, deadline, files: 0, bytes: 0 }
    }

    fn observe(&mut self, path: &str) -> Result<ObservedFile, String> {
        if self.deadline.expired() {
            return Err("no time left to compare the tree".to_owned());
        }
        let observed = content_store::observe(&self.layout.root.join(path));
        self.files += 1;
        self.bytes += observed.bytes.as_ref().map_or(0, |bytes| bytes.len() as u64);
        if self.files > MAX_READ_FILES || self.bytes > MAX_READ_BYTES {
            return Err(format!(
                "more than {MAX_READ_FILES} files or {MAX_READ_BYTES} bytes differ, too many to compare the tree"
            ));
        }
        content_store::store(self.layout, path, &observed);
        Ok(observed)
    }
}

fn is_traced(path: &str) -> bool {
    !is_untraced(path)
}

/// A path relative to a folder, as the ledger writes it.
fn relative(root: &Path, path: &Path) -> Option<String> {
    let rest = path.strip_prefix(root).ok()?;
    let parts: Vec<_> = rest.components().map(|part| part.as_os_str().to_string_lossy()).collect();
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests;
