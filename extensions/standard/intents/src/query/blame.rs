//! Attributes each line of a file to the change that wrote it, by content alone.
//!
//! Pure.
//!
//! Where the contents before and after a change are stored, the new lines belong to the change, and differences between
//! the end of one change and the start of the next belong to a person. Where they are not stored, as in a fresh clone,
//! the hashes of the added lines identify the change. Commits are not used, so history may be rewritten.

mod by_hash;
mod replay;

use std::borrow::Cow;

use serde::Serialize;

pub(crate) use replay::line_origins;

use crate::trace_entry::RecordedChange;
use crate::trace_entry::ScopeValidation;

/// Larger files are refused.
pub(crate) const MAX_BLAMED_BYTES: u64 = 64 * 1024 * 1024;

/// Who wrote a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LineAuthor {
    /// A recorded call.
    Agent,
    /// Anything else, after the first entry of the file.
    Human,
    /// The line is older than the first entry of the file, or the file has none.
    Unknown,
}

/// The origin of each line of a file.
#[derive(Debug)]
pub(crate) struct FileBlame<'h> {
    history: &'h [RecordedChange],
    origins: Cow<'h, [LineOrigin]>,
}

/// The origin of one line, as scripts read it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BlamedLine<'h> {
    /// From 1.
    pub line: usize,
    /// The intent that it was written for.
    pub intent: Option<&'h str>,
    /// The session that wrote it.
    pub session: Option<&'h str>,
    /// The tool.
    pub tool: Option<&'h str>,
    /// The time.
    pub timestamp: Option<&'h str>,
    /// What wrote it.
    pub by: LineAuthor,
    /// Whether it was in the scope of its intent; `None` for lines that no entry wrote.
    #[serde(skip)]
    pub scope: Option<ScopeValidation>,
}

/// The origin of one line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum LineOrigin {
    /// Not decided yet.
    Open,
    Unknown,
    Human,
    /// An entry of the history.
    Change(u32),
}

impl<'h> FileBlame<'h> {
    /// Attributes the lines of `present`. `content` returns the stored content with a hash.
    #[must_use]
    pub(crate) fn new(
        history: &'h [RecordedChange],
        content: &dyn Fn(&str) -> Option<Vec<u8>>,
        present: &[u8],
    ) -> Self {
        Self { history, origins: line_origins(history, content, present).into() }
    }

    /// The same for lines that were attributed before.
    #[must_use]
    pub(crate) fn of_origins(history: &'h [RecordedChange], origins: &'h [LineOrigin]) -> Self {
        Self { history, origins: origins.into() }
    }

    /// The entry that wrote a line, from 1, if an agent did.
    #[must_use]
    pub(crate) fn change(&self, line: usize) -> Option<&'h RecordedChange> {
        match self.origins.get(line.checked_sub(1)?)? {
            LineOrigin::Change(index) => self.history.get(*index as usize),
            _ => None,
        }
    }

    /// Who wrote a line, from 1.
    #[must_use]
    pub(crate) fn by(&self, line: usize) -> LineAuthor {
        match line.checked_sub(1).and_then(|index| self.origins.get(index)) {
            Some(LineOrigin::Change(_)) => LineAuthor::Agent,
            Some(LineOrigin::Human) => LineAuthor::Human,
            _ => LineAuthor::Unknown,
        }
    }

    /// The intent that a line, from 1, was written for, if it was in scope.
    #[must_use]
    pub(crate) fn covering_intent(&self, line: usize) -> Option<&'h str> {
        let entry = &self.change(line)?.entry;
        let covered = entry.scope_validation == ScopeValidation::Pass && !entry.intent_id.is_empty();
        covered.then_some(entry.intent_id.as_str())
    }

    /// The origin of every line.
    pub(crate) fn lines(&self) -> impl Iterator<Item = BlamedLine<'h>> + '_ {
        (1..=self.origins.len()).map(|line| {
            let entry = self.change(line).map(|change| &change.entry);
            BlamedLine {
                line,
                intent: entry.map(|entry| entry.intent_id.as_str()).filter(|intent| !intent.is_empty()),
                session: entry.map(|entry| entry.session_id.as_str()),
                tool: entry.map(|entry| entry.tool_name.as_str()),
                timestamp: entry.map(|entry| entry.timestamp.as_str()),
                by: self.by(line),
                scope: entry.map(|entry| entry.scope_validation),
            }
        })
    }
}

#[cfg(test)]
mod tests;
