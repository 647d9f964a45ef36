//! Compares the metadata of every file, for a workspace without git.

use std::collections::BTreeMap;

use dispatch_os::Deadline;
use dispatch_os::files::{self, Stamp};
use serde::{Deserialize, Serialize};

use super::{ChangedFile, TreeSnapshot, is_traced, relative};
use crate::content_store::{self, ObservedFile};
use crate::layout::OrchestrationLayout;

const MAX_FILES: usize = 20_000;
/// In a tree up to this size the contents are stored too, so that a change can be recorded in full and reverted.
const MAX_STORED_FILES: usize = 500;
const MAX_STORED_BYTES: u64 = 4 * 1024 * 1024;

/// A file of a snapshot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WalkedFile {
    size: u64,
    modified_ns: i128,
    changed_ns: i128,
    inode: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    hash: Option<String>,
}

impl WalkedFile {
    fn stamp(&self) -> (u64, i128, i128, u64) {
        (self.size, self.modified_ns, self.changed_ns, self.inode)
    }
}

pub(super) fn snapshot(layout: &OrchestrationLayout, deadline: Deadline) -> TreeSnapshot {
    let mut files = match walk(layout, deadline) {
        Ok(files) => files,
        Err(why) => return TreeSnapshot::Missing { why },
    };
    let bytes: u64 = files.values().map(|seen| seen.size).sum();
    if files.len() <= MAX_STORED_FILES && bytes <= MAX_STORED_BYTES {
        for (path, seen) in &mut files {
            let observed = content_store::observe(&layout.root.join(path));
            content_store::store(layout, path, &observed);
            seen.hash = observed.hash;
        }
    }
    TreeSnapshot::Walk { files }
}

pub(super) fn changes(
    layout: &OrchestrationLayout,
    before: &BTreeMap<String, WalkedFile>,
    deadline: Deadline,
) -> Result<Vec<ChangedFile>, String> {
    let now = walk(layout, deadline)?;
    let mut found = Vec::new();
    let paths: std::collections::BTreeSet<&String> = before.keys().chain(now.keys()).collect();
    for path in paths {
        let (old, new) = (before.get(path), now.get(path));
        if old.map(WalkedFile::stamp) == new.map(WalkedFile::stamp) {
            continue;
        }
        let after = content_store::observe(&layout.root.join(path));
        let before = match old {
            None => ObservedFile::default(),
            Some(WalkedFile { hash: Some(hash), .. }) => {
                ObservedFile { hash: Some(hash.clone()), bytes: None, problem: None }
            }
            Some(_) => {
                ObservedFile { hash: None, bytes: None, problem: Some("the content before is unknown".to_owned()) }
            }
        };
        if before.problem.is_some() || before.hash != after.hash {
            content_store::store(layout, path, &after);
            found.push(ChangedFile { path: path.clone(), before, after, was_dirty: false, is_restored: false });
        }
    }
    Ok(found)
}

fn walk(layout: &OrchestrationLayout, deadline: Deadline) -> Result<BTreeMap<String, WalkedFile>, String> {
    let mut found = BTreeMap::new();
    let mut open = vec![layout.root.clone()];
    while let Some(folder) = open.pop() {
        if deadline.expired() {
            return Err("no time left to read the tree".to_owned());
        }
        for entry in files::read_dir(&folder).into_iter().flatten().flatten() {
            let Some(path) = relative(&layout.root, &entry.path()).filter(|path| is_traced(path)) else {
                continue;
            };
            let Ok(metadata) = files::symlink_metadata(entry.path()) else {
                continue;
            };
            if metadata.is_dir() {
                open.push(entry.path());
                continue;
            }
            let stamp = Stamp::of(&metadata);
            let Stamp { size, modified_ns, changed_ns, inode, .. } = stamp;
            found.insert(path, WalkedFile { size, modified_ns, changed_ns, inode, hash: None });
            if found.len() > MAX_FILES {
                return Err(format!("the tree has more than {MAX_FILES} files and no git repository"));
            }
        }
    }
    Ok(found)
}
