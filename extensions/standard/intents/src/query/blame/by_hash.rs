//! Finds the lines that a change added by their hashes, where its contents are not kept.

use std::collections::HashMap;

use super::Mark;
use crate::entry::AddedLines;
use crate::hash::line_hash;
use crate::query::diff;

/// How many places of one line are tried.
const MAX_CANDIDATES: usize = 64;

/// The lines of a text whose origin is open, by their hashes.
pub(super) struct OpenLines<'m> {
    marks: &'m mut [Mark],
    hashes: Vec<String>,
    /// The places of lines that have a letter or digit; others prove nothing alone.
    telling: HashMap<String, Vec<usize>>,
}

impl<'m> OpenLines<'m> {
    pub(super) fn new(text: &[u8], marks: &'m mut [Mark]) -> Self {
        let mut hashes = Vec::with_capacity(marks.len());
        let mut telling: HashMap<String, Vec<usize>> = HashMap::new();
        for (at, (line, mark)) in diff::lines(text).zip(marks.iter()).enumerate() {
            if *mark != Mark::Open {
                hashes.push(String::new());
                continue;
            }
            let hash = line_hash(line);
            if line.iter().any(|byte| byte.is_ascii_alphanumeric() || *byte >= 0x80) {
                telling.entry(hash.clone()).or_default().push(at);
            }
            hashes.push(hash);
        }
        Self { marks, hashes, telling }
    }

    /// Gives the lines that a change added to it, the longest matching runs first.
    pub(super) fn give(&mut self, added: &[AddedLines], mark: Mark) {
        for run in added {
            let start = usize::try_from(run.start).unwrap_or(1).saturating_sub(1);
            let mut at = 0;
            while at < run.hashes.len() {
                at += self.give_from(&run.hashes, at, start + at, mark).max(1);
            }
        }
    }

    /// Gives the best place for the lines of a run from `at` on; says how many of them it took.
    fn give_from(&mut self, run: &[String], at: usize, expected: usize, mark: Mark) -> usize {
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
        self.marks.get(index) == Some(&Mark::Open)
    }
}
