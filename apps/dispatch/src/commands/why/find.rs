//! Finds one run of the pipeline in the logs, from their ends, because what people ask about is recent.

use dispatch_hook_module::{Decision, Record, RecordType};

use crate::failure::Failure;
use crate::log_file::newest_first;
use crate::workspace::SessionLog;
use std::ops::ControlFlow;

/// How many candidates an error names.
const SHOWN_CANDIDATES: usize = 5;
/// More fitting runs than this are not told apart.
const MAX_CANDIDATES: usize = 100;

/// One run of the pipeline.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct HookRun {
    /// Its `HOOK_RUN` record.
    pub(super) record: Record,
    /// Warnings, errors and exceptions of the same run.
    pub(super) notes: Vec<Record>,
}

/// The newest run of all sessions.
pub(super) fn last(sessions: &[SessionLog]) -> Result<HookRun, Failure> {
    newest(sessions, &|_| true)?
        .ok_or_else(|| Failure::usage("no hook events yet").hint("`dispatch init` registers the hooks of your agents"))
}

/// The newest run that was not let pass.
pub(super) fn last_objection(sessions: &[SessionLog]) -> Result<Option<HookRun>, Failure> {
    newest(sessions, &|record| record.decision.is_some_and(|decision| decision != Decision::Allow))
}

/// The run with this id in one session.
pub(super) fn in_session(sessions: &[SessionLog], session: &str, id: &str) -> Result<Option<HookRun>, Failure> {
    let own: Vec<SessionLog> = sessions.iter().filter(|log| log.id == session).cloned().collect();
    newest(&own, &|record| record.hook_run_id == id)
}

/// The one run that this id, or the start of one, stands for.
pub(super) fn by_id(sessions: &[SessionLog], id: &str) -> Result<HookRun, Failure> {
    let mut fitting: Vec<(String, String)> = Vec::new();
    let mut exact = Vec::new();
    for session in sessions {
        scan(session, &mut |line| {
            if !holds(line, id) {
                return ControlFlow::Continue(());
            }
            if let Some(record) = Record::parse(line).filter(|record| fits(record, id)) {
                let place = (session.id.clone(), record.hook_run_id.clone());
                let list = if record.hook_run_id == id || record.id == id { &mut exact } else { &mut fitting };
                if !list.contains(&place) {
                    list.push(place);
                }
            }
            if fitting.len() < MAX_CANDIDATES { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
    }
    let candidates = if exact.is_empty() { fitting } else { exact };
    match candidates.as_slice() {
        [] => Err(Failure::usage(format!("unknown hook event `{id}`")).hint("`dispatch events` lists the events")),
        [(session, run)] => in_session(sessions, session, run)?.ok_or_else(|| {
            Failure::usage(format!("`{run}` is not a hook event, or its record is damaged"))
                .hint("`dispatch events --json` prints all records")
        }),
        many => {
            let names: Vec<String> =
                many.iter().take(SHOWN_CANDIDATES).map(|(session, run)| format!("{run} (session {session})")).collect();
            Err(Failure::usage(format!("`{id}` is ambiguous: {} events match", many.len()))
                .hint(format!("choose one: {}", names.join(", "))))
        }
    }
}

/// The newest run that is wanted, with its notes. The records of a run stand together and end with `HOOK_RUN`.
fn newest(sessions: &[SessionLog], wanted: &dyn Fn(&Record) -> bool) -> Result<Option<HookRun>, Failure> {
    let mut found: Option<HookRun> = None;
    for session in sessions {
        let mut own: Option<HookRun> = None;
        scan(session, &mut |line| {
            let Some(record) = Record::parse(line) else { return ControlFlow::Continue(()) };
            match &mut own {
                Some(run) if record.hook_run_id != run.record.hook_run_id => return ControlFlow::Break(()),
                Some(run) if is_note(&record) => run.notes.insert(0, record),
                None if record.kind == RecordType::HookRun && wanted(&record) => {
                    own = Some(HookRun { record, notes: Vec::new() });
                }
                _ => {}
            }
            ControlFlow::Continue(())
        })?;
        let newer = |run: &HookRun| found.as_ref().is_none_or(|best| run.record.ts >= best.record.ts);
        if own.as_ref().is_some_and(newer) {
            found = own;
        }
    }
    Ok(found)
}

fn is_note(record: &Record) -> bool {
    use RecordType as R;
    let told = [R::Warning, R::ErrorModule, R::ErrorModuleCritical, R::ExceptionUsed, R::BudgetExceeded];
    told.contains(&record.kind)
}

/// Whether the record belongs to a run that the id stands for.
fn fits(record: &Record, id: &str) -> bool {
    !id.is_empty() && (record.hook_run_id.starts_with(id) || record.id.starts_with(id))
}

/// A cheap look before a line is parsed.
fn holds(line: &[u8], id: &str) -> bool {
    !id.is_empty() && line.windows(id.len()).any(|part| part == id.as_bytes())
}

fn scan(session: &SessionLog, each: &mut dyn FnMut(&[u8]) -> ControlFlow<()>) -> Result<(), Failure> {
    let end = newest_first(&session.events_file, each);
    end.map(|_| ())
        .map_err(|error| Failure::internal(format!("cannot read {}", session.events_file.display())).caused_by(&error))
}

#[cfg(test)]
mod tests;
