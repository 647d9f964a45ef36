//! Proves that the ledger is as it was written, and says of every file whether it is as the ledger left it.

mod finding;
mod judge;
mod walk;

use std::collections::BTreeMap;
use std::io;

use crate::chain::Head;
use crate::contents;
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
    let found = contents::look(&place);
    match (found.hash, expected) {
        _ if found.problem.is_some() => Some("cannot be read, not compared"),
        (found, expected) if found.as_deref() == expected => None,
        (None, _) => Some("removed"),
        (Some(_), None) => Some("made again"),
        (Some(_), Some(_)) => Some("changed"),
    }
}

#[cfg(test)]
mod tests;
