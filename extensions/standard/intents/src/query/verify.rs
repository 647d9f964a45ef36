//! Verifies the chain of the ledger, and compares every file with its last entry.

mod chain_walk;
mod diagnose;
mod evidence;
mod file_states;
mod finding;
pub(crate) mod link_key;

use std::io;

use crate::content_store;
use crate::layout::OrchestrationLayout;
use crate::ledger::line::LedgerLine;
use crate::query::inside;

use chain_walk::ChainWalk;
pub(crate) use evidence::{CommittedLedger, MissingLineOutcome, VerificationEvidence};
use file_states::FileStates;
pub(crate) use finding::FindingKind;
pub use finding::{LedgerFinding, LedgerVerification};

/// The number of a line in an archive.
pub const ARCHIVED: u64 = 0;

/// Reads the whole ledger once and reports every line that was not written this way.
///
/// # Errors
/// When the ledger cannot be read.
pub(crate) fn verify(
    archived: impl Iterator<Item = io::Result<LedgerLine>>,
    lines: impl Iterator<Item = io::Result<LedgerLine>>,
    evidence: &mut VerificationEvidence<'_>,
) -> io::Result<VerifiedLedger> {
    let mut walk = ChainWalk::default();
    for line in archived {
        // Findings name the lines of the ledger; those of an archive have no number there.
        walk.line(&line?.numbered(ARCHIVED));
    }
    for line in lines {
        let line = line?;
        if let Some(committed) = &mut evidence.committed {
            committed.compare(&line);
        }
        walk.line(&line);
    }
    let found = diagnose::diagnose(&walk, evidence);
    Ok(VerifiedLedger { verification: found, files: walk.files })
}

/// The result of [`verify`], with the states of every file.
#[derive(Debug)]
pub(crate) struct VerifiedLedger {
    verification: LedgerVerification,
    files: FileStates,
}

impl VerifiedLedger {
    /// Compares the files of the workspace with their last entries.
    #[must_use]
    pub(crate) fn with_files(mut self, layout: &OrchestrationLayout) -> LedgerVerification {
        for (path, last) in self.files.last_states() {
            match difference(&self.files, layout, path, last.hash.as_deref()) {
                None => self.verification.files += 1,
                Some(detail) => {
                    let detail = format!("{path}: {detail} since line {}", last.line);
                    self.verification.notes.push(LedgerFinding { line: last.line, kind: FindingKind::Content, detail });
                }
            }
        }
        self.verification
    }
}

/// How the file differs from its last entry, and from the last entry of every branch, if it does.
fn difference(
    files: &FileStates,
    layout: &OrchestrationLayout,
    path: &str,
    expected: Option<&str>,
) -> Option<&'static str> {
    let Some(place) = inside(&layout.root, path) else {
        return Some("not a path in this workspace, not compared");
    };
    let found = content_store::observe(&place);
    match (found.hash.as_deref(), expected) {
        _ if found.problem.is_some() => Some("cannot be read, not compared"),
        (found, expected) if found == expected || files.is_branch_end(path, found) => None,
        (None, _) => Some("removed"),
        (Some(_), None) => Some("created again"),
        (Some(_), Some(_)) => Some("changed"),
    }
}

#[cfg(test)]
mod tests;
