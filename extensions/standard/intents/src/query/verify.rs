//! Verifies the chain of the ledger, and compares every file with its last entry.

mod chain_walk;
mod diagnose;
mod finding;

use std::collections::BTreeMap;
use std::io;

use crate::content_store;
use crate::layout::OrchestrationLayout;
use crate::ledger::line::LedgerLine;
use crate::query::inside;

use chain_walk::{ChainWalk, LastFileState};
pub(crate) use diagnose::VerificationEvidence;
pub(crate) use finding::FindingKind;
pub use finding::{LedgerFinding, LedgerVerification};

/// Reads the whole ledger once and reports every line that was not written this way.
///
/// # Errors
/// When the ledger cannot be read.
pub(crate) fn verify(
    lines: impl Iterator<Item = io::Result<LedgerLine>>,
    evidence: &VerificationEvidence,
) -> io::Result<VerifiedLedger> {
    let mut walk = ChainWalk::new(&evidence.anchors);
    for line in lines {
        walk.line(&line?);
    }
    let found = diagnose::diagnose(&walk, evidence);
    Ok(VerifiedLedger { verification: found, last_states: walk.into_last_states() })
}

/// The result of [`verify`], with the last state of every file.
#[derive(Debug)]
pub(crate) struct VerifiedLedger {
    verification: LedgerVerification,
    last_states: BTreeMap<String, LastFileState>,
}

impl VerifiedLedger {
    /// Compares the files of the workspace with their last entries.
    #[must_use]
    pub(crate) fn with_files(mut self, layout: &OrchestrationLayout) -> LedgerVerification {
        for (path, last) in &self.last_states {
            if let Some(detail) = difference(layout, path, last.hash.as_deref()) {
                let detail = format!("{path}: {detail} since line {}", last.line);
                self.verification.notes.push(LedgerFinding { line: last.line, kind: FindingKind::Content, detail });
            } else {
                self.verification.files += 1;
            }
        }
        self.verification
    }
}

/// How the file differs from its last entry, if it does.
fn difference(layout: &OrchestrationLayout, path: &str, expected: Option<&str>) -> Option<&'static str> {
    let Some(place) = inside(&layout.root, path) else {
        return Some("not a path in this workspace, not compared");
    };
    let found = content_store::observe(&place);
    match (found.hash, expected) {
        _ if found.problem.is_some() => Some("cannot be read, not compared"),
        (found, expected) if found.as_deref() == expected => None,
        (None, _) => Some("removed"),
        (Some(_), None) => Some("created again"),
        (Some(_), Some(_)) => Some("changed"),
    }
}

#[cfg(test)]
mod tests;
