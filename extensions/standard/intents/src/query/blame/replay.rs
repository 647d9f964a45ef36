//! Carries the origin of every line from change to change.
//!
//! Pure.

use std::collections::{HashMap, VecDeque};
use std::rc::Rc;

use super::LineOrigin;
use super::by_hash::UnattributedLines;
use crate::hash::content_hash;
use crate::query::line_diff;
use crate::trace_entry::RecordedChange;

/// The most lines of known versions, for files that return to one of them.
const MAX_REMEMBERED_LINES: usize = 8_000_000;
/// The most changes that are replayed by their contents; older ones are matched by the hashes of their lines.
const MAX_REPLAYED: usize = 200;
/// The most versions that are tried as the base of the present file.
const MAX_TRIED_VERSIONS: usize = 8;

/// The origins of the lines of `present`.
pub(crate) fn line_origins(
    history: &[RecordedChange],
    content: &dyn Fn(&str) -> Option<Vec<u8>>,
    present: &[u8],
) -> Vec<LineOrigin> {
    let mut replay =
        BlameReplay { history, content, state: None, unseen: Vec::new(), seen: 0, versions: KnownVersions::default() };
    let skipped = history.len().saturating_sub(MAX_REPLAYED);
    for (index, change) in history.iter().enumerate() {
        let number = u32::try_from(index).unwrap_or(u32::MAX);
        // The first is replayed, so that older lines are recognised.
        if index > 0 && index < skipped && can_be_skipped(change) {
            replay.unseen.push(number);
        } else {
            replay.apply(number, change);
        }
    }
    replay.finish(present)
}

/// Whether the hashes of its lines describe the whole change.
fn can_be_skipped(change: &RecordedChange) -> bool {
    let file = change.entry.file.as_ref();
    let edits = file.is_some_and(|file| file.pre_hash.is_some() && file.post_hash.is_some());
    edits && !change.entry.added.is_empty() && !change.entry.reverted
}

/// A content with the origin of each of its lines.
struct AttributedText {
    hash: String,
    text: Vec<u8>,
    marks: Rc<Vec<LineOrigin>>,
}

struct BlameReplay<'a> {
    history: &'a [RecordedChange],
    content: &'a dyn Fn(&str) -> Option<Vec<u8>>,
    /// The last known content; `None` before the first.
    state: Option<AttributedText>,
    /// Changes since then whose content is not stored.
    unseen: Vec<u32>,
    /// How many changes were applied.
    seen: usize,
    versions: KnownVersions,
}

impl BlameReplay<'_> {
    fn apply(&mut self, index: u32, change: &RecordedChange) {
        self.seen = index as usize;
        let Some(file) = change.entry.file.as_ref().filter(|_| !change.entry.reverted) else {
            return;
        };
        let exact = match file.pre_hash.as_deref() {
            None => self.enter_absent(file.post_hash.as_deref()),
            Some(hash) => self.enter(hash),
        };
        let ReplayEntry::At(exact) = exact else {
            return;
        };
        match file.post_hash.as_deref() {
            None => self.set(String::new(), Vec::new(), Vec::new()),
            Some(hash) => match (self.content)(hash) {
                Some(text) if exact == PriorContent::Known => {
                    let marks = self.carried(&text, LineOrigin::Change(index));
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

    /// Before a change that found no file: the file is new, or a known version returns.
    fn enter_absent(&mut self, post: Option<&str>) -> ReplayEntry {
        if let Some(hash) = post
            && self.go_back(hash)
        {
            return ReplayEntry::Done;
        }
        self.set(String::new(), Vec::new(), Vec::new());
        ReplayEntry::At(PriorContent::Known)
    }

    /// Before a change that found this content.
    fn enter(&mut self, hash: &str) -> ReplayEntry {
        let here = self.unseen.is_empty() && self.state.as_ref().is_some_and(|state| state.hash == hash);
        if here || self.go_back(hash) {
            return ReplayEntry::At(PriorContent::Known);
        }
        match (self.content)(hash) {
            Some(text) => {
                self.drift(hash.to_owned(), text);
                ReplayEntry::At(PriorContent::Known)
            }
            None => ReplayEntry::At(PriorContent::Unknown),
        }
    }

    /// Returns to a known version.
    fn go_back(&mut self, hash: &str) -> bool {
        let known = self.versions.get(hash);
        let Some((marks, text)) = known.and_then(|marks| Some((marks, (self.content)(hash)?))) else {
            return false;
        };
        self.unseen.clear();
        self.state = Some(AttributedText { hash: hash.to_owned(), text, marks });
        true
    }

    /// Continues with a content whose changes are not all recorded.
    fn drift(&mut self, hash: String, text: Vec<u8>) {
        let mut marks = self.carried(&text, LineOrigin::Open);
        self.decide(&text, &mut marks);
        self.set(hash, text, marks);
    }

    /// Decides undecided lines: another known version that has them, a change whose hashes match, the same line with
    /// other spaces, else a person, or unknown before the first entry.
    fn decide(&self, text: &[u8], marks: &mut [LineOrigin]) {
        self.fill_from_versions(text, marks, line_diff::common_runs);
        if marks.contains(&LineOrigin::Open) {
            let mut open = UnattributedLines::new(text, marks);
            for index in self.unseen.iter().rev() {
                if let Some(change) = self.history.get(*index as usize) {
                    open.attribute(&change.entry.added, LineOrigin::Change(*index));
                }
            }
            // A merge brings lines of changes whose contents are on another machine.
            let earlier = self.history.iter().take(self.seen).enumerate().rev();
            for (index, change) in earlier.filter(|(_, change)| !change.entry.reverted) {
                if !open.is_any_open() {
                    break;
                }
                let index = u32::try_from(index).unwrap_or(u32::MAX);
                open.attribute_missing(&change.entry.added, LineOrigin::Change(index));
            }
        }
        self.fill_from_versions(text, marks, line_diff::common_runs_ignoring_spaces);
        let rest = if self.state.is_some() { LineOrigin::Human } else { LineOrigin::Unknown };
        for mark in marks.iter_mut().filter(|mark| **mark == LineOrigin::Open) {
            *mark = rest;
        }
    }

    /// Gives undecided lines the origin that they have in a known version, the latest first.
    fn fill_from_versions(
        &self,
        text: &[u8],
        marks: &mut [LineOrigin],
        compare: fn(&[u8], &[u8]) -> Vec<line_diff::CommonRun>,
    ) {
        for (hash, known) in self.versions.latest() {
            if !marks.contains(&LineOrigin::Open) {
                return;
            }
            let Some(version) = (self.content)(&hash) else { continue };
            let lines: Vec<Vec<u8>> = line_diff::bare_lines(&version);
            let present: Vec<Vec<u8>> = line_diff::bare_lines(text);
            let mut left: HashMap<(LineOrigin, &[u8]), usize> = HashMap::new();
            for (line, origin) in lines.iter().zip(known.iter()) {
                *left.entry((*origin, line.as_slice())).or_default() += 1;
            }
            // A line that the text has already is not found twice: the second one was written by somebody else.
            for (line, origin) in present.iter().zip(marks.iter()) {
                left.entry((*origin, line.as_slice())).and_modify(|count| *count = count.saturating_sub(1));
            }
            for run in compare(&version, text) {
                for (old, new) in (run.old..run.old + run.count).zip(run.new..) {
                    let (Some(line), Some(origin), Some(mark)) = (lines.get(old), known.get(old), marks.get_mut(new))
                    else {
                        continue;
                    };
                    let count = left.get_mut(&(*origin, line.as_slice())).filter(|count| **count > 0);
                    if let Some(count) = count.filter(|_| *mark == LineOrigin::Open) {
                        *count -= 1;
                        *mark = *origin;
                    }
                }
            }
        }
    }

    fn carried(&self, text: &[u8], fresh: LineOrigin) -> Vec<LineOrigin> {
        match &self.state {
            Some(state) => carry(&state.text, &state.marks, text, fresh),
            None => vec![fresh; line_diff::count_lines(text)],
        }
    }

    fn set(&mut self, hash: String, text: Vec<u8>, marks: Vec<LineOrigin>) {
        let marks = Rc::new(marks);
        if !hash.is_empty() {
            self.versions.insert(hash.clone(), Rc::clone(&marks));
        }
        self.unseen.clear();
        self.state = Some(AttributedText { hash, text, marks });
    }

    fn finish(mut self, present: &[u8]) -> Vec<LineOrigin> {
        self.seen = self.history.len();
        let hash = content_hash(present);
        let here = self.unseen.is_empty() && self.state.as_ref().is_some_and(|state| state.hash == hash);
        if let Some(state) = self.state.as_ref().filter(|_| here) {
            return state.marks.to_vec();
        }
        if let Some(marks) = self.versions.get(&hash) {
            return marks.to_vec();
        }
        let mut marks = self.carried(present, LineOrigin::Open);
        self.decide(present, &mut marks);
        marks
    }
}

#[derive(PartialEq, Eq, Clone, Copy)]
enum PriorContent {
    Known,
    Unknown,
}

enum ReplayEntry {
    /// The content before the change is known, exactly or not.
    At(PriorContent),
    /// The change is done.
    Done,
}

fn carry(old: &[u8], marks: &[LineOrigin], new: &[u8], fresh: LineOrigin) -> Vec<LineOrigin> {
    let mut carried = vec![fresh; line_diff::count_lines(new)];
    for run in line_diff::common_runs(old, new) {
        let to = carried.get_mut(run.new..run.new + run.count);
        if let (Some(to), Some(from)) = (to, marks.get(run.old..run.old + run.count)) {
            to.copy_from_slice(from);
        }
    }
    carried
}

/// The origins of the lines of known contents, the latest within a limit.
#[derive(Default)]
struct KnownVersions {
    marks: HashMap<String, Rc<Vec<LineOrigin>>>,
    order: VecDeque<String>,
    lines: usize,
}

impl KnownVersions {
    fn get(&self, hash: &str) -> Option<Rc<Vec<LineOrigin>>> {
        self.marks.get(hash).cloned()
    }

    fn insert(&mut self, hash: String, marks: Rc<Vec<LineOrigin>>) {
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

    fn latest(&self) -> Vec<(String, Rc<Vec<LineOrigin>>)> {
        let latest = self.order.iter().rev().take(MAX_TRIED_VERSIONS);
        latest.filter_map(|hash| Some((hash.clone(), self.get(hash)?))).collect()
    }
}
