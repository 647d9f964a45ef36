//! Joins the logs of several sessions into one order, within memory that does not grow with the logs.

use super::{EventFilter, FilteredRecord, TimelineEntry};
use crate::failure::Failure;
use crate::log_file::{LogCursor, LogLine, newest_first};
use crate::workspace::SessionLog;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::ops::ControlFlow;

/// The newest entries, oldest of them first.
pub(super) struct NewestEntries {
    pub(super) entries: Vec<TimelineEntry>,
    /// Whether there are older ones.
    pub(super) more: bool,
    pub(super) unreadable: u64,
    /// Where the complete lines of each log ended, in the order of the sessions.
    pub(super) ends: Vec<u64>,
}

/// The newest `limit` entries of all sessions, read from the ends of their logs.
pub(super) fn newest(sessions: &[SessionLog], limit: usize, filter: &EventFilter) -> Result<NewestEntries, Failure> {
    let mut found = NewestEntries { entries: Vec::new(), more: false, unreadable: 0, ends: Vec::new() };
    for session in sessions {
        let mut own = Vec::new();
        let end = newest_first(&session.events_file, &mut |line| match filter.read(line) {
            Some(FilteredRecord::Yes(record)) if own.len() < limit => {
                own.push(TimelineEntry { line: line.to_vec(), record });
                ControlFlow::Continue(())
            }
            Some(FilteredRecord::Yes(_)) => {
                found.more = true;
                ControlFlow::Break(())
            }
            // Records stand in the order of time, give or take what runs at once; older ones are not wanted.
            Some(FilteredRecord::No { recent: false }) => ControlFlow::Break(()),
            Some(FilteredRecord::No { recent: true }) => ControlFlow::Continue(()),
            None => {
                found.unreadable += 1;
                ControlFlow::Continue(())
            }
        });
        found.ends.push(end.map_err(|error| unreadable_log(session, &error))?);
        found.entries.extend(own.into_iter().rev());
        found.entries.sort_by(|one, other| one.record.ts.cmp(&other.record.ts));
        let surplus = found.entries.len().saturating_sub(limit);
        found.more |= surplus > 0;
        found.entries.drain(..surplus);
    }
    Ok(found)
}

/// Hands over all entries in order until `each` fails, which means that the reader has gone away. Returns how many
/// lines were no records.
pub(super) fn merge(
    sessions: &[SessionLog],
    filter: &EventFilter,
    each: &mut dyn FnMut(TimelineEntry) -> io::Result<()>,
) -> Result<u64, Failure> {
    let mut cursors: Vec<LogCursor> =
        sessions.iter().map(|session| LogCursor::at_start(session.events_file.clone())).collect();
    drain(sessions, &mut cursors, filter, each).map(|(unreadable, _)| unreadable)
}

/// Hands over what the cursors have not passed yet, in order. Says how many lines were no records, and whether
/// anybody still reads.
pub(super) fn drain(
    sessions: &[SessionLog],
    cursors: &mut [LogCursor],
    filter: &EventFilter,
    each: &mut dyn FnMut(TimelineEntry) -> io::Result<()>,
) -> Result<(u64, ControlFlow<()>), Failure> {
    let mut unreadable = 0;
    let mut heads: Vec<Option<TimelineEntry>> = Vec::new();
    let mut order = BinaryHeap::new();
    let mut advance = |index: usize, cursor: &mut LogCursor, session: &SessionLog| {
        next_wanted(cursor, filter, &mut unreadable)
            .map_err(|error| unreadable_log(session, &error))
            .map(|entry| (entry.as_ref().map(|entry| Reverse((entry.record.ts.clone(), index))), entry))
    };
    for (index, (cursor, session)) in cursors.iter_mut().zip(sessions).enumerate() {
        let (place, entry) = advance(index, cursor, session)?;
        order.extend(place);
        heads.push(entry);
    }
    while let Some(Reverse((_, index))) = order.pop() {
        if let Some(entry) = heads.get_mut(index).and_then(Option::take)
            && each(entry).is_err()
        {
            return Ok((unreadable, ControlFlow::Break(())));
        }
        if let (Some(cursor), Some(session)) = (cursors.get_mut(index), sessions.get(index)) {
            let (place, entry) = advance(index, cursor, session)?;
            order.extend(place);
            if let Some(head) = heads.get_mut(index) {
                *head = entry;
            }
        }
    }
    Ok((unreadable, ControlFlow::Continue(())))
}

fn next_wanted(
    cursor: &mut LogCursor,
    filter: &EventFilter,
    unreadable: &mut u64,
) -> io::Result<Option<TimelineEntry>> {
    while let Some(line) = cursor.next_line()? {
        match line {
            LogLine::Whole(line) => match filter.read(&line) {
                Some(FilteredRecord::Yes(record)) => return Ok(Some(TimelineEntry { line, record })),
                Some(FilteredRecord::No { .. }) => {}
                None => *unreadable += 1,
            },
            LogLine::TooLong => *unreadable += 1,
        }
    }
    Ok(None)
}

fn unreadable_log(session: &SessionLog, error: &io::Error) -> Failure {
    Failure::internal(format!("cannot read {}", session.events_file.display())).caused_by(error)
}
