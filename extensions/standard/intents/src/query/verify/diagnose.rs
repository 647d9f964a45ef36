//! Explains breaks of the chain by the smallest change of the ledger.
//!
//! Pure.

use std::collections::{BTreeSet, HashMap};

use super::chain_walk::{ChainBreak, ChainWalk};
use super::finding::{FindingKind, LedgerFinding, LedgerVerification};
use crate::chain::LedgerHead;
use crate::query::anchor::LedgerAnchor;

/// What verification compares with the lines.
#[derive(Debug, Clone, Default)]
pub(crate) struct VerificationEvidence {
    /// The end of the ledger as its last writer left it.
    pub head: Option<LedgerHead>,
    /// Ends of the ledger in commits.
    pub anchors: Vec<LedgerAnchor>,
}

pub(super) fn diagnose(walk: &ChainWalk, evidence: &VerificationEvidence) -> LedgerVerification {
    let mut diagnosis = ChainDiagnosis {
        walk,
        head: evidence.head.as_ref(),
        breaks: walk.breaks.iter().map(|found| (found.at, found)).collect(),
        problems: walk.problems.clone(),
        notes: walk.notes.clone(),
    };
    diagnosis.malformed_lines();
    diagnosis.breaks();
    diagnosis.end();
    let anchors = diagnosis.anchors(evidence);
    let ChainDiagnosis { mut problems, mut notes, .. } = diagnosis;
    problems.sort_by_key(|problem| (problem.line, problem.kind));
    notes.sort_by_key(|note| (note.line, note.kind));
    LedgerVerification {
        entries: walk.entries,
        problems,
        notes,
        files: 0,
        anchors,
        compared_anchors: evidence.anchors.len() as u64,
    }
}

struct ChainDiagnosis<'a> {
    walk: &'a ChainWalk,
    head: Option<&'a LedgerHead>,
    breaks: HashMap<u64, &'a ChainBreak>,
    problems: Vec<LedgerFinding>,
    notes: Vec<LedgerFinding>,
}

impl ChainDiagnosis<'_> {
    fn problem(&mut self, line: u64, kind: FindingKind, detail: impl Into<String>) {
        self.problems.push(LedgerFinding { line, kind, detail: detail.into() });
    }

    fn has_problem(&self, line: u64) -> bool {
        self.problems.iter().any(|problem| problem.line == line)
    }

    fn malformed_lines(&mut self) {
        for (line, reason) in &self.walk.malformed {
            if self.walk.chained_over.contains(line) {
                // The next line continues from it, so it was not inserted later.
                let detail = format!("{reason}; left by a killed writer");
                self.notes.push(LedgerFinding { line: *line, kind: FindingKind::Malformed, detail });
            } else {
                self.problem(*line, FindingKind::Malformed, reason.clone());
            }
        }
    }

    fn breaks(&mut self) {
        let mut explained: BTreeSet<u64> = BTreeSet::new();
        for found in &self.walk.breaks {
            if explained.contains(&found.at) {
                continue;
            }
            let (at, after) = (found.at, found.after);
            if self.next_is_lost(at) {
                explained.insert(at + 1);
                self.problem(
                    at,
                    FindingKind::Edited,
                    format!("does not follow line {after}, and the next line does not follow it"),
                );
            } else if let Some(place) = self.walk.place(&found.prev) {
                let detail = match place {
                    0 => "was written as the first line".to_owned(),
                    place => format!("was written after line {place}, and is now after line {after}"),
                };
                self.problem(at, FindingKind::Reordered, detail);
            } else if after > 0 && self.walk.malformed.contains_key(&after) {
                // The line before is already reported.
            } else if after == 0 || self.is_shorter() {
                self.problem(at, FindingKind::Removed, format!("lines between line {after} and this one were removed"));
            } else {
                let detail = format!(
                    "line {at} followed another content of this line (or a line between them that was removed)"
                );
                self.problem(after, FindingKind::Edited, detail);
            }
        }
    }

    /// Whether the line after this one follows a line that is not in the ledger.
    fn next_is_lost(&self, line: u64) -> bool {
        if line == self.walk.count {
            return self.head.is_some_and(|head| head.entries == line && self.walk.place(&head.last).is_none());
        }
        let next = self.breaks.get(&(line + 1));
        next.is_some_and(|next| next.after == line && self.walk.place(&next.prev).is_none())
    }

    fn is_shorter(&self) -> bool {
        self.head.is_some_and(|head| head.entries > self.walk.count)
    }

    fn end(&mut self) {
        let count = self.walk.count;
        let Some(head) = self.head else {
            if count > 0 {
                self.problem(
                    count,
                    FindingKind::Head,
                    "agent_trace.head is missing or damaged, so the last line cannot be verified",
                );
            }
            return;
        };
        match self.walk.place(&head.last) {
            Some(place) if place < count && head.entries < count => {
                let more = count - place;
                let detail = format!("{more} more lines than in agent_trace.head; a killed writer causes this");
                self.notes.push(LedgerFinding { line: place + 1, kind: FindingKind::PastHead, detail });
            }
            Some(_) => {}
            None if count < head.entries => {
                let detail = format!("{} lines were written, {count} are left; the last one was removed", head.entries);
                self.problem(count + 1, FindingKind::Removed, detail);
            }
            None => {
                let line = head.entries.clamp(1, count.max(1));
                if !self.has_problem(line) {
                    self.problem(line, FindingKind::Edited, "does not match the last line in agent_trace.head");
                }
            }
        }
    }

    /// Compares the anchors of commits; returns the number of those that match.
    fn anchors(&mut self, evidence: &VerificationEvidence) -> u64 {
        let mut proven = 0;
        for anchor in &evidence.anchors {
            if self.walk.anchored.get(&anchor.entries) == Some(&anchor.last) {
                proven += 1;
                continue;
            }
            // After a removed or repeated line the others have moved, which is already reported.
            let elsewhere = self.walk.place(&anchor.last).is_some();
            if elsewhere && !self.problems.is_empty() {
                continue;
            }
            let line = anchor.entries.clamp(1, self.walk.count + 1);
            let commit = anchor.commit.get(..12).unwrap_or(&anchor.commit);
            let detail = format!("commit {commit} has an anchor with {} lines and another last line", anchor.entries);
            self.problem(line, FindingKind::Anchor, detail);
        }
        proven
    }
}
