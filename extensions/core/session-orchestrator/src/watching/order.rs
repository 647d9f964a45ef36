//! Stored rows and news in one order, as they happened, each row once.
//!
//! Pure.

use crate::contract::{SessionEvent, SessionNews};
use dispatch_contracts::conversation::Row;
use std::collections::VecDeque;

/// The account of one session so far.
pub(super) struct EventOrder {
    /// What is to be given out.
    pub(super) due: VecDeque<SessionEvent>,
    /// The place of the last row that was given out.
    pub(super) seen: u64,
    /// Whether storage must be read before more news is passed on.
    pub(super) behind: bool,
    /// The last place when watching began: this process told every later row of its own as news.
    begun_at: u64,
}

impl EventOrder {
    /// Begins behind a place, or with what comes from now on.
    pub(super) fn new(after: Option<u64>, last_place: u64) -> Self {
        Self { due: VecDeque::new(), seen: after.unwrap_or(last_place), behind: after.is_some(), begun_at: last_place }
    }

    /// Passes news on; a row only if it is the next one.
    pub(super) fn hear(&mut self, event: SessionEvent) {
        match event.seq {
            Some(seq) if seq <= self.seen => {}
            Some(seq) if seq > self.seen + 1 => self.behind = true,
            Some(seq) => {
                self.seen = seq;
                self.due.push_back(event);
            }
            None => self.due.push_back(event),
        }
    }

    /// Passes a page of stored rows on, those behind the last one that was given out. What was told
    /// before a row was stored goes before it, so `news` is asked for what has come since.
    pub(super) fn read(&mut self, rows: Vec<(u64, Row)>, news: impl FnOnce() -> Vec<SessionEvent>) {
        self.behind = !rows.is_empty();
        let mut rows = rows.into_iter().peekable();
        while let Some(stored) = rows.next_if(|(seq, _)| *seq <= self.begun_at) {
            self.give(stored);
        }
        if rows.peek().is_none() {
            return;
        }
        for event in news() {
            while let Some(stored) = rows.next_if(|(seq, _)| event.seq.is_some_and(|told| *seq < told)) {
                self.give(stored);
            }
            self.hear(event);
        }
        rows.for_each(|stored| self.give(stored));
    }

    fn give(&mut self, (seq, row): (u64, Row)) {
        if seq > self.seen {
            self.seen = seq;
            self.due.push_back(SessionEvent { seq: Some(seq), news: SessionNews::Row { row } });
        }
    }
}

#[cfg(test)]
mod tests;
