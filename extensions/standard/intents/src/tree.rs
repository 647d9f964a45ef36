//! The tree before and after a call: which files really changed, whatever the call said it would do.

mod git;
mod walk;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use dispatch_os::Deadline;
use serde::{Deserialize, Serialize};

use crate::contents::{self, Look};
use crate::layout::Layout;
use crate::reach::is_untraced;

/// More changed files than this are told as one entry.
pub const MAX_CHANGES: usize = 1_000;
/// More files, or more bytes of them, are not read at once.
const MAX_READ_FILES: usize = 2_000;
const MAX_READ_BYTES: u64 = 64 * 1024 * 1024;

/// What a tree looked like.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Snapshot {
    /// By git: the commit, and the content of every file that differs from it.
    Git {
        /// The commit; nothing before the first.
        head: Option<String>,
        /// Files that differ from it or are not in it, with the hash of their content.
        dirty: BTreeMap<String, Option<String>>,
    },
    /// By looking at every file.
    Walk {
        /// Every file.
        files: BTreeMap<String, walk::Seen>,
    },
    /// It could not be taken.
    Missing {
        /// Why.
        why: String,
    },
}

/// A file that changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    /// From the workspace's root.
    pub path: String,
    /// Before.
    pub before: Look,
    /// After.
    pub after: Look,
}

/// What changed between a snapshot and now.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// The files.
    pub files: Vec<Changed>,
    /// Why there may be more.
    pub incomplete: Option<String>,
}

/// Takes a snapshot within the time given. Contents that may be needed again are kept.
#[must_use]
pub fn snapshot(layout: &Layout, time: Duration) -> Snapshot {
    let deadline = Deadline::after(time);
    if !git::is_repository(&layout.root) {
        return walk::snapshot(layout, deadline);
    }
    let taken = git::status(layout, deadline).and_then(|status| {
        let mut reader = Reader::new(layout, deadline);
        let mut dirty = BTreeMap::new();
        for path in status.paths {
            let look = reader.look(&path)?;
            dirty.insert(path, look.hash);
        }
        Ok(Snapshot::Git { head: status.head, dirty })
    });
    taken.unwrap_or_else(|why| Snapshot::Missing { why })
}

/// Compares the tree with a snapshot.
#[must_use]
pub fn changes(layout: &Layout, before: &Snapshot, time: Duration) -> Changes {
    let deadline = Deadline::after(time);
    let found = match before {
        Snapshot::Missing { why } => Err(why.clone()),
        Snapshot::Walk { files } => walk::changes(layout, files, deadline),
        Snapshot::Git { head, dirty } => git_changes(layout, head.as_deref(), dirty, deadline),
    };
    let mut changes = match found {
        Ok(files) => Changes { files, incomplete: None },
        Err(why) => Changes { files: Vec::new(), incomplete: Some(why) },
    };
    if changes.files.len() > MAX_CHANGES {
        changes.incomplete = Some(format!("{} files changed; the first {MAX_CHANGES} are told", changes.files.len()));
        changes.files.truncate(MAX_CHANGES);
    }
    changes
}

fn git_changes(
    layout: &Layout,
    head: Option<&str>,
    dirty: &BTreeMap<String, Option<String>>,
    deadline: Deadline,
) -> Result<Vec<Changed>, String> {
    let status = git::status(layout, deadline)?;
    let mut candidates: BTreeSet<String> = dirty.keys().cloned().collect();
    candidates.extend(status.paths);
    if status.head.as_deref() != head {
        candidates.extend(git::changed_between(layout, head, status.head.as_deref(), deadline)?);
    }
    let clean: Vec<&str> = candidates.iter().filter(|path| !dirty.contains_key(*path)).map(String::as_str).collect();
    let mut committed = git::contents(layout, head, &clean, deadline)?;
    let mut reader = Reader::new(layout, deadline);
    let mut found = Vec::new();
    for path in &candidates {
        let after = reader.look(path)?;
        let before = match dirty.get(path) {
            Some(hash) => Look { hash: hash.clone(), bytes: None, problem: None },
            None => committed.remove(path).map(Look::of_bytes).unwrap_or_default(),
        };
        if before.hash != after.hash {
            contents::keep(layout, &before);
            found.push(Changed { path: path.clone(), before, after });
        }
    }
    Ok(found)
}

/// Reads files and keeps their contents, as long as there is time and room.
struct Reader<'a> {
    layout: &'a Layout,
    deadline: Deadline,
    files: usize,
    bytes: u64,
}

impl<'a> Reader<'a> {
    fn new(layout: &'a Layout, deadline: Deadline) -> Self {
        Self { layout, deadline, files: 0, bytes: 0 }
    }

    fn look(&mut self, path: &str) -> Result<Look, String> {
        if self.deadline.expired() {
            return Err("the time of the event did not suffice to compare the tree".to_owned());
        }
        let look = contents::look(&self.layout.root.join(path));
        self.files += 1;
        self.bytes += look.bytes.as_ref().map_or(0, |bytes| bytes.len() as u64);
        if self.files > MAX_READ_FILES || self.bytes > MAX_READ_BYTES {
            return Err("too many changed files to compare the tree".to_owned());
        }
        contents::keep(self.layout, &look);
        Ok(look)
    }
}

fn is_traced(path: &str) -> bool {
    !is_untraced(path)
}

/// A path as the ledger spells it, from the folder it is below.
fn relative(root: &Path, path: &Path) -> Option<String> {
    let rest = path.strip_prefix(root).ok()?;
    let parts: Vec<_> = rest.components().map(|part| part.as_os_str().to_string_lossy()).collect();
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests;
