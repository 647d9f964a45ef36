//! Explains what is missing in the chains: git dropped it, or somebody edited or removed lines.
//!
//! Pure.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::chain_walk::{ChainLine, ChainWalk};
use super::evidence::{MissingLineOutcome, VerificationEvidence};
use super::finding::{FindingKind, LedgerFinding, LedgerVerification};
use super::link_key::{LinkKey, key};
use crate::chain::{ChainEnd, START};

pub(super) fn diagnose(walk: &ChainWalk, evidence: &mut VerificationEvidence<'_>) -> LedgerVerification {
    let committed: Vec<(u64, LinkKey)> =
        evidence.committed.as_mut().map(|committed| committed.others().to_vec()).unwrap_or_default();
    let missing_committed: Vec<(u64, LinkKey)> =
        committed.into_iter().filter(|(_, link)| walk.place(link).is_none()).collect();
    let start = key(START);
    let is_gone = |line: &&ChainLine| line.prev != start && walk.place(&line.prev).is_none();
    let gone: Vec<&ChainLine> = walk.lines.iter().filter(is_gone).collect();
    let mut diagnosis = ChainDiagnosis {
        walk,
        evidence,
        outcomes: HashMap::new(),
        explained: BTreeSet::new(),
        problems: walk.problems.clone(),
        notes: walk.notes.clone(),
    };
    diagnosis.ask_git(&gone);
    diagnosis.malformed_lines();
    diagnosis.committed_lines(&missing_committed);
    diagnosis.broken_chains(&gone);
    diagnosis.ends(&missing_committed);
    let anchors = diagnosis.anchors();
    let compared_anchors = diagnosis.evidence.anchors.len() as u64;
    let ChainDiagnosis { mut problems, mut notes, .. } = diagnosis;
    notes.extend(walk.files.gaps());
    problems.sort_by_key(|problem| (problem.line, problem.kind));
    notes.sort_by_key(|note| (note.line, note.kind));
    LedgerVerification {
        entries: walk.entries,
        repeated: walk.repeated,
        problems,
        notes,
        files: 0,
        anchors,
        compared_anchors,
    }
}

struct ChainDiagnosis<'a, 'g> {
    walk: &'a ChainWalk,
    evidence: &'a VerificationEvidence<'g>,
    outcomes: HashMap<LinkKey, MissingLineOutcome>,
    /// Lines that are already reported as the cause of something.
    explained: BTreeSet<u64>,
    problems: Vec<LedgerFinding>,
    notes: Vec<LedgerFinding>,
}

impl ChainDiagnosis<'_, '_> {
    fn problem(&mut self, line: u64, kind: FindingKind, detail: impl Into<String>) {
        self.problems.push(LedgerFinding { line, kind, detail: detail.into() });
    }

    fn note(&mut self, line: u64, kind: FindingKind, detail: impl Into<String>) {
        self.notes.push(LedgerFinding { line, kind, detail: detail.into() });
    }

    fn is_missing(&self, link: &str) -> bool {
        self.walk.place(&key(link)).is_none()
    }

    fn ask_git(&mut self, gone: &[&ChainLine]) {
        let head = self.evidence.head.iter().flat_map(|head| head.required_links());
        let anchors = self.evidence.anchors.iter().map(|anchor| anchor.last.as_str());
        let links = head.chain(anchors).filter(|link| self.is_missing(link)).map(key);
        let wanted: HashSet<LinkKey> = links.chain(gone.iter().map(|line| line.prev)).collect();
        if let Some(history) = self.evidence.history.filter(|_| !wanted.is_empty()) {
            self.outcomes = history(&wanted).into_iter().collect();
        }
    }

    fn malformed_lines(&mut self) {
        for (line, reason) in &self.walk.malformed {
            self.problem(*line, FindingKind::Malformed, reason.clone());
        }
    }

    /// Every line of the committed ledger is still there.
    fn committed_lines(&mut self, missing: &[(u64, LinkKey)]) {
        let Some((number, _)) = missing.first() else {
            return;
        };
        let detail =
            format!("{} lines of the committed ledger are missing, the first is its line {number}", missing.len());
        if self.evidence.is_git_busy {
            self.note(
                *number,
                FindingKind::Dropped,
                format!("{detail}; git has stopped in the middle of an operation"),
            );
        } else if self.walk.count == 0 {
            self.problem(1, FindingKind::Removed, detail);
        } else {
            let edited =
                self.walk.malformed.keys().next().is_some() || self.walk.count >= *number + missing.len() as u64 - 1;
            let kind = if edited { FindingKind::Edited } else { FindingKind::Removed };
            self.problem(*number, kind, detail);
        }
    }

    /// Lines that follow a line which is not there. The last is explained first: the line before it may be the edited
    /// one, which then no longer follows its own.
    fn broken_chains(&mut self, gone: &[&ChainLine]) {
        let start = key(START);
        for line in gone.iter().rev() {
            if self.explained.contains(&line.number) {
                continue;
            }
            if let Some(outcome) = self.outcomes.get(&line.prev).cloned() {
                self.tell_outcome(line.number, &outcome);
            } else if self.is_committed(line) {
                let detail = "follows a line that no commit of this history has: its commit was dropped, or the line was \
                              removed before it was committed";
                self.note(line.number, FindingKind::Dropped, detail);
            } else if let Some(edited) = self.edited_before(line, &start).filter(|_| !self.is_shorter()) {
                self.explained.insert(edited);
                if !self.walk.malformed.contains_key(&edited) {
                    self.problem(edited, FindingKind::Edited, format!("line {} followed it before", line.number));
                }
            } else {
                self.problem(line.number, FindingKind::Removed, "the line that it follows was removed");
            }
        }
    }

    /// Whether lines are missing, and not only changed.
    fn is_shorter(&self) -> bool {
        self.evidence.head.as_ref().is_some_and(|head| head.entries > self.walk.count) && self.walk.malformed.is_empty()
    }

    fn is_committed(&self, line: &ChainLine) -> bool {
        self.evidence.committed.as_ref().is_some_and(|committed| committed.contains(line.number, &line.key))
    }

    /// The line before a broken one that was probably edited: of its session, and followed by none.
    fn edited_before(&self, line: &ChainLine, start: &LinkKey) -> Option<u64> {
        let required: HashSet<LinkKey> =
            self.evidence.head.iter().flat_map(|head| head.required_links()).map(key).collect();
        let session_of = |link: &LinkKey| {
            let place = self.walk.place(link)?;
            let at = self.walk.lines.partition_point(|line| line.number < place);
            self.walk.lines.get(at).filter(|line| line.number == place).map(|line| line.session)
        };
        let before = self.walk.lines.iter().rev().filter(|other| other.number < line.number);
        let edited = before
            .filter(|other| !self.walk.is_followed(&other.key) && !required.contains(&other.key))
            .filter(|other| !self.explained.contains(&other.number))
            .find(|other| {
                let stray = other.prev != *start && session_of(&other.prev) == Some(line.session);
                other.session == line.session || stray
            });
        let malformed = self.walk.malformed.keys().rev().find(|number| **number < line.number).copied();
        edited.map(|other| other.number).max(malformed)
    }

    fn tell_outcome(&mut self, line: u64, outcome: &MissingLineOutcome) {
        let short = |commit: &str| commit.get(..12).unwrap_or(commit).to_owned();
        match outcome {
            MissingLineOutcome::Reverted(commit) => {
                let detail = format!("commit {} removed an entry together with its change", short(commit));
                self.note(line, FindingKind::Dropped, detail);
            }
            MissingLineOutcome::Dropped(commit) => {
                let detail = format!("an entry is only in commit {}, which is not in this history", short(commit));
                self.note(line, FindingKind::Dropped, detail);
            }
            MissingLineOutcome::Erased { commit, path } => {
                let detail =
                    format!("commit {} removed an entry of {path}, and its change is still there", short(commit));
                self.problem(line, FindingKind::Removed, detail);
            }
            MissingLineOutcome::Lost(commit) => {
                let detail = format!("an entry of commit {} was lost in a merge", short(commit));
                self.problem(line, FindingKind::Removed, detail);
            }
        }
    }

    /// The ends of the chains that this machine wrote.
    fn ends(&mut self, missing_committed: &[(u64, LinkKey)]) {
        let Some(head) = &self.evidence.head else {
            return;
        };
        let ends: HashMap<&str, &ChainEnd> =
            head.chains.iter().flatten().map(|(_, end)| (end.link.as_str(), end)).collect();
        let missing: Vec<String> =
            head.required_links().filter(|link| self.is_missing(link)).map(str::to_owned).collect();
        for link in missing {
            let end = key(&link);
            match self.outcomes.get(&end).cloned() {
                // The same line is reported as missing in the committed ledger.
                Some(MissingLineOutcome::Lost(_)) if missing_committed.iter().any(|(_, link)| *link == end) => {}
                Some(outcome) => self.tell_outcome(self.walk.count.max(1), &outcome),
                None => {
                    let end = ends.get(link.as_str()).copied();
                    let is_there = end.is_some_and(|end| self.evidence.is_change_there.is_some_and(|ask| ask(end)));
                    self.missing_end(end.map(|end| end.id.as_str()), is_there);
                }
            }
        }
    }

    /// The end of a chain that git does not know either. A version of git that lost the entry has lost its change too.
    fn missing_end(&mut self, id: Option<&str>, is_still_there: bool) {
        let place = id.and_then(|id| self.walk.place_of_id(id));
        if self.evidence.committed.is_some() && self.walk.count > 0 && self.is_committed_version() && !is_still_there {
            let detail = "git restored a committed version of the ledger; entries that were not committed are gone";
            return self.note(self.walk.count, FindingKind::Dropped, detail);
        }
        match place.or_else(|| self.walk.malformed.keys().next_back().copied()) {
            Some(line) if self.explained.contains(&line) || self.walk.malformed.contains_key(&line) => {}
            Some(line) => self.problem(line, FindingKind::Edited, "differs from what was written"),
            None => self.problem(
                self.walk.count + 1,
                FindingKind::Removed,
                "the last line of a session that was written on this machine is missing",
            ),
        }
    }

    /// Whether the ledger on disk has no line that is not committed.
    fn is_committed_version(&self) -> bool {
        self.walk.lines.iter().all(|line| self.is_committed(line))
    }

    /// Compares the anchors of commits; returns the number of those that match.
    fn anchors(&mut self) -> u64 {
        let mut proven = 0;
        for anchor in &self.evidence.anchors {
            let link = key(&anchor.last);
            if self.walk.place(&link).is_some() {
                proven += 1;
                continue;
            }
            if let Some(outcome) = self.outcomes.get(&link).cloned() {
                let known = matches!(outcome, MissingLineOutcome::Lost(_)) && !self.problems.is_empty();
                if !known {
                    self.tell_outcome(self.walk.count.max(1), &outcome);
                }
                continue;
            }
            let commit = anchor.commit.get(..12).unwrap_or(&anchor.commit);
            let detail = format!("commit {commit} has an anchor of a line that is missing");
            self.problem(self.walk.count + 1, FindingKind::Anchor, detail);
        }
        proven
    }
}
