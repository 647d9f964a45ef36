//! Says what must have happened where the chain breaks: the smallest change that explains it.

use std::collections::{BTreeSet, HashMap};

use super::Evidence;
use super::finding::{Kind, Problem, Verification};
use super::walk::{Break, Walk};
use crate::chain::Head;

pub(super) fn judge(walk: &Walk, evidence: &Evidence) -> Verification {
    let mut court = Court {
        walk,
        head: evidence.head.as_ref(),
        breaks: walk.breaks.iter().map(|found| (found.at, found)).collect(),
        problems: walk.problems.clone(),
        notes: walk.notes.clone(),
    };
    court.lines_that_are_no_entries();
    court.breaks();
    court.end();
    let anchors = court.anchors(evidence);
    let Court { mut problems, mut notes, .. } = court;
    problems.sort_by_key(|problem| (problem.line, problem.kind));
    notes.sort_by_key(|note| (note.line, note.kind));
    Verification { entries: walk.entries, problems, notes, files: 0, anchors }
}

struct Court<'a> {
    walk: &'a Walk,
    head: Option<&'a Head>,
    breaks: HashMap<u64, &'a Break>,
    problems: Vec<Problem>,
    notes: Vec<Problem>,
}

impl Court<'_> {
    fn problem(&mut self, line: u64, kind: Kind, detail: impl Into<String>) {
        self.problems.push(Problem { line, kind, detail: detail.into() });
    }

    fn has_problem(&self, line: u64) -> bool {
        self.problems.iter().any(|problem| problem.line == line)
    }

    fn lines_that_are_no_entries(&mut self) {
        for (line, reason) in &self.walk.malformed {
            if self.walk.chained_over.contains(line) {
                // The next writer found it and built on it, so it was not put there later.
                let detail = format!("{reason}; left by a writer that was killed");
                self.notes.push(Problem { line: *line, kind: Kind::Malformed, detail });
            } else {
                self.problem(*line, Kind::Malformed, reason.clone());
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
                    Kind::Edited,
                    format!("does not follow line {after}, and nothing follows it as it is"),
                );
            } else if let Some(place) = self.walk.place(&found.prev) {
                let detail = match place {
                    0 => "was written as the first line".to_owned(),
                    place => format!("was written after line {place}, and stands after line {after}"),
                };
                self.problem(at, Kind::Reordered, detail);
            } else if after > 0 && self.walk.malformed.contains_key(&after) {
                // The line before is already named as what it is.
            } else if after == 0 || self.is_shorter() {
                self.problem(at, Kind::Removed, format!("what was written between line {after} and this one is gone"));
            } else {
                let detail = format!(
                    "line {at} was written after another content of it (or after a line between them that is gone)"
                );
                self.problem(after, Kind::Edited, detail);
            }
        }
    }

    /// Whether what follows a line names something that is nowhere in the ledger.
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
                    Kind::Head,
                    "the file agent_trace.head is missing or damaged, so nothing proves that this is the last line",
                );
            }
            return;
        };
        match self.walk.place(&head.last) {
            Some(place) if place < count && head.entries < count => {
                let more = count - place;
                let detail = format!("{more} more lines than agent_trace.head knows; a killed writer leaves that");
                self.notes.push(Problem { line: place + 1, kind: Kind::PastHead, detail });
            }
            Some(_) => {}
            None if count < head.entries => {
                let detail = format!("{} lines were written, {count} are there; the last is gone", head.entries);
                self.problem(count + 1, Kind::Removed, detail);
            }
            None => {
                let line = head.entries.clamp(1, count.max(1));
                if !self.has_problem(line) {
                    self.problem(line, Kind::Edited, "is not the line that was written last, by agent_trace.head");
                }
            }
        }
    }

    /// Compares what commits remember; says how many of them are as remembered.
    fn anchors(&mut self, evidence: &Evidence) -> u64 {
        let mut proven = 0;
        for anchor in &evidence.anchors {
            if self.walk.anchored.get(&anchor.entries) == Some(&anchor.last) {
                proven += 1;
                continue;
            }
            // Where a line was removed or doubled the rest has moved, which is told already.
            let elsewhere = self.walk.place(&anchor.last).is_some();
            if elsewhere && !self.problems.is_empty() {
                continue;
            }
            let line = anchor.entries.clamp(1, self.walk.count + 1);
            let commit = anchor.commit.get(..12).unwrap_or(&anchor.commit);
            let detail = format!("commit {commit} remembers {} lines and another last one", anchor.entries);
            self.problem(line, Kind::Anchor, detail);
        }
        proven
    }
}
