//! The tree by looking at every file, where there is no git to ask.

use std::collections::BTreeMap;
use std::fs;

use dispatch_os::Deadline;
use dispatch_os::files::Stamp;
use serde::{Deserialize, Serialize};

use super::{Changed, Snapshot, is_traced, relative};
use crate::contents::{self, Look};
use crate::layout::Layout;

const MAX_FILES: usize = 20_000;
/// In a tree up to this size contents are kept too, so that a change can be told in full and put back.
const MAX_KEPT_FILES: usize = 500;
const MAX_KEPT_BYTES: u64 = 4 * 1024 * 1024;

/// A file when the tree was walked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    size: u64,
    modified_ns: i128,
    changed_ns: i128,
    inode: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    hash: Option<String>,
}

impl Seen {
    fn stamp(&self) -> (u64, i128, i128, u64) {
        (self.size, self.modified_ns, self.changed_ns, self.inode)
    }
}

pub(super) fn snapshot(layout: &Layout, deadline: Deadline) -> Snapshot {
    let mut files = match walk(layout, deadline) {
        Ok(files) => files,
        Err(why) => return Snapshot::Missing { why },
    };
    let bytes: u64 = files.values().map(|seen| seen.size).sum();
    if files.len() <= MAX_KEPT_FILES && bytes <= MAX_KEPT_BYTES {
        for (path, seen) in &mut files {
            let look = contents::look(&layout.root.join(path));
            contents::keep(layout, &look);
            seen.hash = look.hash;
        }
    }
    Snapshot::Walk { files }
}

pub(super) fn changes(
    layout: &Layout,
    before: &BTreeMap<String, Seen>,
    deadline: Deadline,
) -> Result<Vec<Changed>, String> {
    let now = walk(layout, deadline)?;
    let mut found = Vec::new();
    let paths: std::collections::BTreeSet<&String> = before.keys().chain(now.keys()).collect();
    for path in paths {
        let (old, new) = (before.get(path), now.get(path));
        if old.map(Seen::stamp) == new.map(Seen::stamp) {
            continue;
        }
        let after = contents::look(&layout.root.join(path));
        let before = match old {
            None => Look::default(),
            Some(Seen { hash: Some(hash), .. }) => Look { hash: Some(hash.clone()), bytes: None, problem: None },
            Some(_) => {
                Look { hash: None, bytes: None, problem: Some("the content before was not looked at".to_owned()) }
            }
        };
        if before.problem.is_some() || before.hash != after.hash {
            contents::keep(layout, &after);
            found.push(Changed { path: path.clone(), before, after });
        }
    }
    Ok(found)
}

fn walk(layout: &Layout, deadline: Deadline) -> Result<BTreeMap<String, Seen>, String> {
    let mut found = BTreeMap::new();
    let mut open = vec![layout.root.clone()];
    while let Some(folder) = open.pop() {
        if deadline.expired() {
            return Err("the time of the event did not suffice to look at the tree".to_owned());
        }
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let Some(path) = relative(&layout.root, &entry.path()).filter(|path| is_traced(path)) else {
                continue;
            };
            let Ok(metadata) = entry.path().symlink_metadata() else {
                continue;
            };
            if metadata.is_dir() {
                open.push(entry.path());
                continue;
            }
            let stamp = Stamp::of(&metadata);
            let Stamp { size, modified_ns, changed_ns, inode, .. } = stamp;
            found.insert(path, Seen { size, modified_ns, changed_ns, inode, hash: None });
            if found.len() > MAX_FILES {
                return Err(format!("the tree has more than {MAX_FILES} files and no git to ask"));
            }
        }
    }
    Ok(found)
}
