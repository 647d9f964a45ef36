//! Goes on printing what happens, through new sessions and logs that start anew.

use super::{EventFilter, EventPrinter, EventsRequest, timeline};
use crate::app::Status;
use crate::failure::Failure;
use crate::log_file::LogCursor;
use crate::workspace::{SessionLog, Workspace};
use std::collections::BTreeMap;
use std::time::Duration;

/// How soon a new event is seen.
const PAUSE: Duration = Duration::from_millis(200);

/// Ends when the reader has gone away; otherwise the user interrupts it.
pub(super) fn follow(
    workspace: &Workspace,
    request: &EventsRequest,
    filter: &EventFilter,
    sink: &mut EventPrinter<'_>,
) -> Result<Status, Failure> {
    let sessions = workspace.chosen(request.session.as_deref())?;
    let mut known = match request.limit() {
        Some(limit) => {
            let newest = timeline::newest(&sessions, limit, filter)?;
            for entry in &newest.entries {
                if sink.print(entry).is_err() {
                    return Ok(Status::Done);
                }
            }
            let passed = sessions.iter().zip(newest.ends);
            passed
                .map(|(session, end)| (session.id.clone(), LogCursor::after(session.events_file.clone(), end)))
                .collect()
        }
        None => BTreeMap::new(),
    };
    loop {
        let now: Vec<SessionLog> = match &request.session {
            Some(_) => sessions.clone(),
            None => workspace.sessions(),
        };
        let take = |session: &SessionLog| {
            known.remove(&session.id).unwrap_or_else(|| LogCursor::at_start(session.events_file.clone()))
        };
        let mut cursors: Vec<LogCursor> = now.iter().map(take).collect();
        let (_, readers) = timeline::drain(&now, &mut cursors, filter, &mut |entry| sink.print(&entry))?;
        if readers.is_break() {
            return Ok(Status::Done);
        }
        known.extend(now.into_iter().map(|session| session.id).zip(cursors));
        dispatch_os::threads::sleep(PAUSE);
    }
}
