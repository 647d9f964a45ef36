//! What the ledger comes to: per intent, per file, per day, and what left its scope.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use crate::entry::{ScopeValidation, TraceEntry};
use crate::ledger::Line;

/// How many escapes are kept, newest.
pub const MAX_ESCAPES: usize = 200;

/// What was done under one intent, or to one file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Activity {
    /// Entries.
    pub entries: u64,
    /// Entries out of scope or without an intent.
    pub escapes: u64,
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
pub struct Day {
    /// In scope.
    pub inside: u64,
    /// Out of scope or without an intent.
    pub escapes: u64,
}

/// One entry that left its scope or had no intent.
#[derive(Debug, Clone, PartialEq)]
pub struct Escape {
    /// The line of the ledger.
    pub line: u64,
    /// The entry.
    pub entry: TraceEntry,
}

/// The whole ledger in numbers.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Summary {
    /// Entries.
    pub entries: u64,
    /// By intent; the empty name for entries without one.
    pub intents: BTreeMap<String, Activity>,
    /// By path.
    pub files: BTreeMap<String, Activity>,
    /// By date.
    pub days: BTreeMap<String, Day>,
    /// The newest escapes, oldest first.
    pub escapes: Vec<Escape>,
    /// How many there are.
    pub escape_count: u64,
    /// Sessions.
    pub sessions: BTreeSet<String>,
}

impl Summary {
    /// Reads the ledger once.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn read(lines: impl Iterator<Item = io::Result<Line>>) -> io::Result<Self> {
        let mut summary = Self::default();
        for line in lines {
            let line = line?;
            if let Ok(entry) = line.entry() {
                summary.take_in(line.number, entry);
            }
        }
        Ok(summary)
    }

    fn take_in(&mut self, line: u64, entry: TraceEntry) {
        self.entries += 1;
        self.sessions.insert(entry.session_id.clone());
        let escape = is_escape(&entry);
        let day = self.days.entry(entry.timestamp.get(..10).unwrap_or_default().to_owned()).or_default();
        *(if escape { &mut day.escapes } else { &mut day.inside }) += 1;
        let path = entry.path().map(str::to_owned);
        self.intents.entry(entry.intent_id.clone()).or_default().take_in(&entry, path.as_deref());
        if let Some(path) = path {
            self.files.entry(path).or_default().take_in(&entry, Some(&entry.intent_id));
        }
        if escape {
            self.escape_count += 1;
            self.escapes.push(Escape { line, entry });
            if self.escapes.len() > MAX_ESCAPES * 2 {
                self.escapes.drain(..MAX_ESCAPES);
            }
        }
    }
}

impl Activity {
    fn take_in(&mut self, entry: &TraceEntry, other: Option<&str>) {
        self.entries += 1;
        self.escapes += u64::from(is_escape(entry));
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
