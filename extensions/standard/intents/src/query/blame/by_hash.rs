//! Finds the added lines of a change by their hashes, where its contents are not stored.
//!
//! Pure.

use std::collections::HashMap;

use super::LineOrigin;
use crate::hash::line_hash;
use crate::query::line_diff;
use crate::trace_entry::AddedLines;

/// The most occurrences of one line that are tried.
const MAX_CANDIDATES: usize = 64;

/// The lines of a text whose origin is undecided, by their hashes.
pub(super) struct UnattributedLines<'m> {
    marks: &'m mut [LineOrigin],
    /// The hashes of undecided lines; empty for the others.
    hashes: Vec<String>,
    /// The hashes of all lines.
    all: Vec<String>,
    /// The positions of lines with a letter or digit; other lines alone identify nothing.
    telling: HashMap<String, Vec<usize>>,
}

impl<'m> UnattributedLines<'m> {
    pub(super) fn new(text: &[u8], marks: &'m mut [LineOrigin]) -> Self {
        let mut hashes = Vec::with_capacity(marks.len());
        let all = line_diff::lines(text).map(line_hash).collect();
        let mut telling: HashMap<String, Vec<usize>> = HashMap::new();
        for (at, (line, mark)) in line_diff::lines(text).zip(marks.iter()).enumerate() {
            if *mark != LineOrigin::Open {
                hashes.push(String::new());
                continue;
            }
            let hash = line_hash(line);
            if line.iter().any(|byte| byte.is_ascii_alphanumeric() || *byte >= 0x80) {
                telling.entry(hash.clone()).or_default().push(at);
            }
            hashes.push(hash);
        }
        Self { marks, hashes, all, telling }
    }

    /// Attributes the added lines of a change, the longest matching runs first.
    pub(super) fn attribute(&mut self, added: &[AddedLines], mark: LineOrigin) {
        for run in added {
            let start = usize::try_from(run.start).unwrap_or(1).saturating_sub(1);
            let mut at = 0;
            while at < run.hashes.len() {
                at += self.attribute_from(&run.hashes, at, start + at, mark).max(1);
            }
        }
    }

    /// Whether a line is undecided.
    pub(super) fn is_any_open(&self) -> bool {
        self.marks.contains(&LineOrigin::Open)
    }

    /// The same for the lines of a change that the text does not have yet: a line that a person wrote again beside the
    /// first one stays the person's.
    pub(super) fn attribute_missing(&mut self, added: &[AddedLines], mark: LineOrigin) {
        let mut present: HashMap<&str, usize> = HashMap::new();
        for (hash, _) in self.all.iter().zip(self.marks.iter()).filter(|(_, found)| **found == mark) {
            *present.entry(hash).or_default() += 1;
        }
        let mut missing = Vec::new();
        for run in added {
            let mut part = AddedLines { start: run.start, hashes: Vec::new() };
            for (hash, line) in run.hashes.iter().zip(run.start..) {
                match present.get_mut(hash.as_str()).filter(|count| **count > 0) {
                    Some(count) => {
                        *count -= 1;
                        missing.push(std::mem::replace(&mut part, AddedLines { start: line + 1, hashes: Vec::new() }));
                    }
                    None => part.hashes.push(hash.clone()),
                }
            }
            missing.push(part);
        }
        self.attribute(&missing, mark);
    }

    /// Attributes the best match for the lines of a run from `at` on; returns their number.
    fn attribute_from(&mut self, run: &[String], at: usize, expected: usize, mark: LineOrigin) -> usize {
        let Some(places) = run.get(at).and_then(|hash| self.telling.get(hash)) else {
            return 0;
        };
        let from = places.partition_point(|place| *place < expected.saturating_sub(MAX_CANDIDATES));
        let near = places.iter().skip(from.saturating_sub(MAX_CANDIDATES / 2)).take(MAX_CANDIDATES);
        let scored = near.map(|place| (self.matching(run, at, *place), *place)).filter(|(length, _)| *length > 0);
        let best = scored.max_by_key(|(length, place)| (*length, usize::MAX - place.abs_diff(expected)));
        let Some((length, place)) = best else {
            return 0;
        };
        let before = (1..=at.min(place))
            .take_while(|back| self.is_open(place - back) && self.hashes.get(place - back) == run.get(at - back))
            .count();
        for slot in self.marks.iter_mut().skip(place - before).take(before + length) {
            *slot = mark;
        }
        length
    }

    fn matching(&self, run: &[String], at: usize, place: usize) -> usize {
        let rest = run.iter().skip(at);
        let here = self.hashes.iter().enumerate().skip(place);
        rest.zip(here).take_while(|(hash, (index, found))| self.is_open(*index) && hash == found).count()
    }

    fn is_open(&self, index: usize) -> bool {
        self.marks.get(index) == Some(&LineOrigin::Open)
    }
}
