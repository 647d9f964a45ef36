//! Who wrote each line of a file: replays what the ledger knows of it, by content alone.
//!
//! Where the contents before and after a change are kept, the lines between them belong to the change,
//! and what differs between the end of one change and the start of the next belongs to a person. Where
//! they are not kept, as in a fresh clone, the hashes of the added lines say which lines came from a
//! change. Nothing depends on commits, so history may be rewritten.

mod by_hash;
mod replay;

use serde::Serialize;

use crate::entry::ScopeValidation;
use crate::query::history::Change;

/// Files above this are not blamed.
pub const MAX_BLAMED_BYTES: u64 = 64 * 1024 * 1024;

/// What wrote a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// A call that the ledger knows.
    Agent,
    /// Something else, after the ledger began to follow the file.
    Human,
    /// It was there before, or nothing is known of it.
    Unknown,
}

/// Where the lines of a file came from.
#[derive(Debug)]
pub struct Blame<'h> {
    history: &'h [Change],
    marks: Vec<Mark>,
}

/// One line as scripts read it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BlamedLine<'h> {
    /// From 1.
    pub line: usize,
    /// The intent it was written for.
    pub intent: Option<&'h str>,
    /// The session that wrote it.
    pub session: Option<&'h str>,
    /// With which tool.
    pub tool: Option<&'h str>,
    /// When.
    pub timestamp: Option<&'h str>,
    /// What wrote it.
    pub by: By,
}

/// The origin of one line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    /// Not decided yet.
    Open,
    Unknown,
    Human,
    /// An entry of the history.
    Change(u32),
}

impl<'h> Blame<'h> {
    /// Attributes the lines of `present`. `content` gives the kept content with a hash, if there is one.
    #[must_use]
    pub fn new(history: &'h [Change], content: &dyn Fn(&str) -> Option<Vec<u8>>, present: &[u8]) -> Self {
        Self { history, marks: replay::replay(history, content, present) }
    }

    /// How many lines the file has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.marks.len()
    }

    /// Whether the file has no lines.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.marks.is_empty()
    }

    /// The entry that wrote a line, from 1, if an agent did.
    #[must_use]
    pub fn change(&self, line: usize) -> Option<&'h Change> {
        match self.marks.get(line.checked_sub(1)?)? {
            Mark::Change(index) => self.history.get(*index as usize),
            _ => None,
        }
    }

    /// What wrote a line, from 1.
    #[must_use]
    pub fn by(&self, line: usize) -> By {
        match line.checked_sub(1).and_then(|index| self.marks.get(index)) {
            Some(Mark::Change(_)) => By::Agent,
            Some(Mark::Human) => By::Human,
            _ => By::Unknown,
        }
    }

    /// The intent that a line, from 1, was written for, inside the scope of that intent.
    #[must_use]
    pub fn covering_intent(&self, line: usize) -> Option<&'h str> {
        let entry = &self.change(line)?.entry;
        let covered = entry.scope_validation == ScopeValidation::Pass && !entry.intent_id.is_empty();
        covered.then_some(entry.intent_id.as_str())
    }

    /// Every line as scripts read it.
    pub fn lines(&self) -> impl Iterator<Item = BlamedLine<'h>> + '_ {
        (1..=self.marks.len()).map(|line| {
            let entry = self.change(line).map(|change| &change.entry);
            BlamedLine {
                line,
                intent: entry.map(|entry| entry.intent_id.as_str()).filter(|intent| !intent.is_empty()),
                session: entry.map(|entry| entry.session_id.as_str()),
                tool: entry.map(|entry| entry.tool_name.as_str()),
                timestamp: entry.map(|entry| entry.timestamp.as_str()),
                by: self.by(line),
            }
        })
    }
}

#[cfg(test)]
mod tests;
