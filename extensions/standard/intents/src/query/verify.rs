//! Proves that the ledger is as it was written, and says of every file whether it is as the ledger left it.

mod finding;
mod judge;
mod walk;

use std::collections::BTreeMap;
use std::io;

use crate::chain::Head;
use crate::hash::file_hash;
use crate::layout::Layout;
use crate::ledger::Line;
use crate::query::anchor::Anchor;
use crate::query::inside;

pub use finding::{Kind, Problem, Verification};
use walk::{LastState, Walk};

/// What verification looks at besides the lines.
#[derive(Debug, Clone, Default)]
pub struct Evidence {
    /// The end of the ledger as its last writer left it.
    pub head: Option<Head>,
    /// Ends of the ledger that commits remember.
    pub anchors: Vec<Anchor>,
}

/// Reads the whole ledger once and reports everything that cannot be as it was written.
///
/// # Errors
/// When the ledger cannot be read.
pub fn verify(lines: impl Iterator<Item = io::Result<Line>>, evidence: &Evidence) -> io::Result<Verified> {
    let mut walk = Walk::new(&evidence.anchors);
    for line in lines {
        walk.line(&line?);
    }
    let found = judge::judge(&walk, evidence);
    Ok(Verified { verification: found, last_states: walk.into_last_states() })
}

/// The result of [`verify`], with what the ledger says of every file.
#[derive(Debug)]
pub struct Verified {
    verification: Verification,
    last_states: BTreeMap<String, LastState>,
}

impl Verified {
    /// Compares the files of the workspace with what the ledger says of them, and ends the verification.
    #[must_use]
    pub fn with_files(mut self, layout: &Layout) -> Verification {
        for (path, last) in &self.last_states {
            if let Some(detail) = difference(layout, path, last.hash.as_deref()) {
                let detail = format!("{path}: {detail} since line {}", last.line);
                self.verification.notes.push(Problem { line: last.line, kind: Kind::Content, detail });
            } else {
                self.verification.files += 1;
            }
        }
        self.verification
    }
}

/// How the file differs from what the ledger says, if it does.
fn difference(layout: &Layout, path: &str, expected: Option<&str>) -> Option<&'static str> {
    let Some(place) = inside(&layout.root, path) else {
        return Some("not a path in this workspace, not compared");
    };
    let found = match place.metadata() {
        Ok(found) if found.is_file() => file_hash(&place),
        // A folder in the place of a file is no file.
        Ok(found) if found.is_dir() => Ok(None),
        Ok(_) => return Some("no longer a regular file, not compared"),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(error),
    };
    match (found, expected) {
        (Err(_), _) => Some("cannot be read, not compared"),
        (Ok(found), expected) if found.as_deref() == expected => None,
        (Ok(None), _) => Some("removed"),
        (Ok(Some(_)), None) => Some("made again"),
        (Ok(Some(_)), Some(_)) => Some("changed"),
    }
}

#[cfg(test)]
mod tests;
