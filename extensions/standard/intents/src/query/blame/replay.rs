//! Carries the origin of every line from change to change.

use std::collections::{HashMap, VecDeque};
use std::rc::Rc;

use super::Mark;
use super::by_hash::OpenLines;
use crate::hash::content_hash;
use crate::query::diff;
use crate::query::history::Change;

/// How many lines of known versions are remembered, for files that go back to one of them.
const MAX_REMEMBERED_LINES: usize = 8_000_000;
/// How many changes are replayed by their contents; older ones are known by the hashes of their lines.
const MAX_REPLAYED: usize = 200;
/// How many of the latest versions are tried as the one that the present file came from.
const MAX_TRIED_VERSIONS: usize = 8;

/// The origins of the lines of `present`.
pub(super) fn replay(history: &[Change], content: &dyn Fn(&str) -> Option<Vec<u8>>, present: &[u8]) -> Vec<Mark> {
    let mut replay = Replay { history, content, state: None, unseen: Vec::new(), versions: Versions::default() };
    let skipped = history.len().saturating_sub(MAX_REPLAYED);
    for (index, change) in history.iter().enumerate() {
        let number = u32::try_from(index).unwrap_or(u32::MAX);
        // The first is replayed, so that what was there before it is known.
        if index > 0 && index < skipped && can_be_skipped(change) {
            replay.unseen.push(number);
        } else {
            replay.apply(number, change);
        }
    }
    replay.finish(present)
}

/// Whether the hashes of its lines say all that a change did.
fn can_be_skipped(change: &Change) -> bool {
    let file = change.entry.file.as_ref();
    let edits = file.is_some_and(|file| file.pre_hash.is_some() && file.post_hash.is_some());
    edits && !change.entry.added.is_empty() && !change.entry.reverted
}

/// A content with the origin of each of its lines.
struct State {
    hash: String,
    text: Vec<u8>,
    marks: Rc<Vec<Mark>>,
}

struct Replay<'a> {
    history: &'a [Change],
    content: &'a dyn Fn(&str) -> Option<Vec<u8>>,
    /// The last content that is known; nothing before the first one is.
    state: Option<State>,
    /// Changes since then whose content is not kept.
    unseen: Vec<u32>,
    versions: Versions,
}

impl Replay<'_> {
    fn apply(&mut self, index: u32, change: &Change) {
        let Some(file) = change.entry.file.as_ref().filter(|_| !change.entry.reverted) else {
            return;
        };
        let exact = match file.pre_hash.as_deref() {
            None => self.enter_absent(file.post_hash.as_deref()),
            Some(hash) => self.enter(hash),
        };
        let Entered::At(exact) = exact else {
            return;
        };
        match file.post_hash.as_deref() {
            None => self.set(String::new(), Vec::new(), Vec::new()),
            Some(hash) => match (self.content)(hash) {
                Some(text) if exact == Exact::Yes => {
                    let marks = self.carried(&text, Mark::Change(index));
                    self.set(hash.to_owned(), text, marks);
                }
                Some(text) => {
                    self.unseen.push(index);
                    self.drift(hash.to_owned(), text);
                }
                None => self.unseen.push(index),
            },
        }
    }

    /// Before a change that found no file: either it is new, or a known version comes back.
    fn enter_absent(&mut self, post: Option<&str>) -> Entered {
        if let Some(hash) = post
            && self.go_back(hash)
        {
            return Entered::Done;
        }
        self.set(String::new(), Vec::new(), Vec::new());
        Entered::At(Exact::Yes)
    }

    /// Before a change that found this content.
    fn enter(&mut self, hash: &str) -> Entered {
        let here = self.unseen.is_empty() && self.state.as_ref().is_some_and(|state| state.hash == hash);
        if here || self.go_back(hash) {
            return Entered::At(Exact::Yes);
        }
        match (self.content)(hash) {
            Some(text) => {
                self.drift(hash.to_owned(), text);
                Entered::At(Exact::Yes)
            }
            None => Entered::At(Exact::No),
        }
    }

    /// Takes up a version that was seen before.
    fn go_back(&mut self, hash: &str) -> bool {
        let known = self.versions.get(hash);
        let Some((marks, text)) = known.and_then(|marks| Some((marks, (self.content)(hash)?))) else {
            return false;
        };
        self.unseen.clear();
        self.state = Some(State { hash: hash.to_owned(), text, marks });
        true
    }

    /// Takes up a content that came about in a way the ledger does not know in full.
    fn drift(&mut self, hash: String, text: Vec<u8>) {
        let mut marks = self.carried(&text, Mark::Open);
        self.decide(&text, &mut marks);
        self.set(hash, text, marks);
    }

    /// Decides on open lines: an unseen change if the hashes say so, else a person or nobody we know.
    fn decide(&self, text: &[u8], marks: &mut [Mark]) {
        if !self.unseen.is_empty() && marks.contains(&Mark::Open) {
            let mut open = OpenLines::new(text, marks);
            for index in self.unseen.iter().rev() {
                if let Some(change) = self.history.get(*index as usize) {
                    open.give(&change.entry.added, Mark::Change(*index));
                }
            }
        }
        let rest = if self.state.is_some() { Mark::Human } else { Mark::Unknown };
        for mark in marks.iter_mut().filter(|mark| **mark == Mark::Open) {
            *mark = rest;
        }
    }

    fn carried(&self, text: &[u8], fresh: Mark) -> Vec<Mark> {
        match &self.state {
            Some(state) => carry(&state.text, &state.marks, text, fresh),
            None => vec![fresh; diff::count_lines(text)],
        }
    }

    fn set(&mut self, hash: String, text: Vec<u8>, marks: Vec<Mark>) {
        let marks = Rc::new(marks);
        if !hash.is_empty() {
            self.versions.insert(hash.clone(), Rc::clone(&marks));
        }
        self.unseen.clear();
        self.state = Some(State { hash, text, marks });
    }

    fn finish(mut self, present: &[u8]) -> Vec<Mark> {
        let hash = content_hash(present);
        let here = self.unseen.is_empty() && self.state.as_ref().is_some_and(|state| state.hash == hash);
        if let Some(state) = self.state.as_ref().filter(|_| here) {
            return state.marks.to_vec();
        }
        if let Some(marks) = self.versions.get(&hash) {
            return marks.to_vec();
        }
        let mut marks = self.carried(present, Mark::Open);
        if self.unseen.is_empty() {
            self.try_older(present, &mut marks);
        }
        self.decide(present, &mut marks);
        marks
    }

    /// A checkout may have brought back lines of an older version that the latest one no longer has.
    fn try_older(&mut self, present: &[u8], best: &mut Vec<Mark>) {
        let open = |marks: &[Mark]| marks.iter().filter(|mark| **mark == Mark::Open).count();
        for (hash, marks) in self.versions.latest() {
            let fewest = open(best);
            if fewest == 0 {
                return;
            }
            if let Some(text) = (self.content)(&hash) {
                let carried = carry(&text, &marks, present, Mark::Open);
                if open(&carried) < fewest {
                    *best = carried;
                }
            }
        }
    }
}

#[derive(PartialEq, Eq, Clone, Copy)]
enum Exact {
    Yes,
    No,
}

enum Entered {
    /// The content before the change is known, exactly or not.
    At(Exact),
    /// The change needs no more attention.
    Done,
}

fn carry(old: &[u8], marks: &[Mark], new: &[u8], fresh: Mark) -> Vec<Mark> {
    let mut carried = vec![fresh; diff::count_lines(new)];
    for run in diff::kept(old, new) {
        let to = carried.get_mut(run.new..run.new + run.count);
        if let (Some(to), Some(from)) = (to, marks.get(run.old..run.old + run.count)) {
            to.copy_from_slice(from);
        }
    }
    carried
}

/// The origins of the lines of contents that were seen, the latest within a bound.
#[derive(Default)]
struct Versions {
    marks: HashMap<String, Rc<Vec<Mark>>>,
    order: VecDeque<String>,
    lines: usize,
}

impl Versions {
    fn get(&self, hash: &str) -> Option<Rc<Vec<Mark>>> {
        self.marks.get(hash).cloned()
    }

    fn insert(&mut self, hash: String, marks: Rc<Vec<Mark>>) {
        self.lines += marks.len();
        if let Some(old) = self.marks.insert(hash.clone(), marks) {
            self.lines -= old.len();
            self.order.retain(|known| *known != hash);
        }
        self.order.push_back(hash);
        while self.lines > MAX_REMEMBERED_LINES
            && let Some(oldest) = self.order.pop_front()
        {
            self.lines -= self.marks.remove(&oldest).map_or(0, |marks| marks.len());
        }
    }

    fn latest(&self) -> Vec<(String, Rc<Vec<Mark>>)> {
        let latest = self.order.iter().rev().skip(1).take(MAX_TRIED_VERSIONS);
        latest.filter_map(|hash| Some((hash.clone(), self.get(hash)?))).collect()
    }
}
