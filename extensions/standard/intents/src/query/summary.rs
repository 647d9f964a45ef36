//! Totals of the ledger per intent, file and day, and its escapes.
//!
//! Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use crate::ledger::line::LedgerLine;
use crate::trace_entry::{ScopeValidation, TraceEntry};

/// The most escapes, newest.
pub(crate) const MAX_ESCAPES: usize = 200;

/// The activity of one intent or on one file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ActivitySummary {
    /// Entries.
    pub entries: u64,
    /// Entries out of scope or without an intent.
    pub escapes: u64,
    /// Entries that may conflict with other changes.
    pub conflicts: u64,
    /// Lines added, as far as the ledger knows.
    pub added_lines: u64,
    /// Files of an intent, or intents of a file.
    pub others: BTreeSet<String>,
    /// Sessions.
    pub sessions: BTreeSet<String>,
    /// The time of the first entry.
    pub first: String,
    /// The time of the last entry.
    pub last: String,
}

/// Entries of one day.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct DayActivity {
    /// In scope.
    pub inside: u64,
    /// Out of scope or without an intent.
    pub escapes: u64,
}

/// An entry that is out of scope or has no intent.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RecordedEscape {
    /// The line of the ledger.
    pub line: u64,
    /// The entry.
    pub entry: TraceEntry,
}

/// The totals of the ledger.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct LedgerSummary {
    /// Entries.
    pub entries: u64,
    /// By intent; the empty name for entries without one.
    pub intents: BTreeMap<String, ActivitySummary>,
    /// By path.
    pub files: BTreeMap<String, ActivitySummary>,
    /// By date.
    pub days: BTreeMap<String, DayActivity>,
    /// The newest escapes, oldest first.
    pub escapes: Vec<RecordedEscape>,
    /// The number of all escapes.
    pub escape_count: u64,
    /// Sessions.
    pub sessions: BTreeSet<String>,
}

impl LedgerSummary {
    /// Reads the ledger once.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(crate) fn read(lines: impl Iterator<Item = io::Result<LedgerLine>>) -> io::Result<Self> {
        let mut summary = Self::default();
        for line in lines {
            let line = line?;
            if let Ok(entry) = line.entry() {
                summary.add(line.number, entry);
            }
        }
        Ok(summary)
    }

    pub(crate) fn add(&mut self, line: u64, entry: TraceEntry) {
        self.entries += 1;
        self.sessions.insert(entry.session_id.clone());
        let escape = is_escape(&entry);
        let day = self.days.entry(entry.timestamp.get(..10).unwrap_or_default().to_owned()).or_default();
        *(if escape { &mut day.escapes } else { &mut day.inside }) += 1;
        let path = entry.path().map(str::to_owned);
        self.intents.entry(entry.intent_id.clone()).or_default().add(&entry, path.as_deref());
        if let Some(path) = path {
            self.files.entry(path).or_default().add(&entry, Some(&entry.intent_id));
        }
        if escape {
            self.escape_count += 1;
            self.escapes.push(RecordedEscape { line, entry });
            if self.escapes.len() > MAX_ESCAPES * 2 {
                self.escapes.drain(..MAX_ESCAPES);
            }
        }
    }
}

impl ActivitySummary {
    fn add(&mut self, entry: &TraceEntry, other: Option<&str>) {
        self.entries += 1;
        self.escapes += u64::from(is_escape(entry));
        self.conflicts += u64::from(!entry.concurrent.is_empty());
        self.added_lines += entry.added.iter().map(|run| run.hashes.len() as u64).sum::<u64>();
        self.others.extend(other.map(str::to_owned));
        self.sessions.insert(entry.session_id.clone());
        if self.first.is_empty() || entry.timestamp < self.first {
            self.first.clone_from(&entry.timestamp);
        }
        if entry.timestamp > self.last {
            self.last.clone_from(&entry.timestamp);
        }
    }
}

fn is_escape(entry: &TraceEntry) -> bool {
    entry.scope_validation == ScopeValidation::Fail
        || (entry.intent_id.is_empty() && entry.scope_validation != ScopeValidation::Exempt)
}
