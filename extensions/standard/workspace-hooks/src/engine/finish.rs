//! Ends attempts in the book, each in one step: by their process, by its successor, or by a person.

use super::ending::{Attempt, Failed, Halt, Next, after, after_death};
use super::pace::day;
use crate::book::{BookError, Run, Shelf, Write, WriteState};
use crate::contract::{ContentHash, Retry, RunId, RunsError, Status};
use crate::performer::Performance;
use std::collections::BTreeMap;

/// Which attempt is meant; whoever is not its owner any more has no say about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ticket {
    pub(crate) number: u64,
    pub(crate) owner: String,
    pub(crate) attempt: u32,
}

/// How an attempt ended.
#[derive(Clone, Debug)]
pub(crate) struct Ending {
    pub(crate) ticket: Ticket,
    pub(crate) performance: Performance,
    /// What the files that it wrote hold now, by the digest of their names.
    pub(crate) left: BTreeMap<String, Option<ContentHash>>,
    /// The names of those files as they may be shown.
    pub(crate) wrote: Vec<String>,
    pub(crate) halt: Halt,
    pub(crate) retry: Retry,
    pub(crate) now_ms: u64,
    pub(crate) dice: u64,
}

/// Stores the end of an attempt.
pub(crate) fn finish(shelf: &mut dyn Shelf, ending: Ending) -> Result<Run, BookError> {
    let mut run = held(shelf, &ending.ticket)?;
    let performance = &ending.performance;
    let halt = if run.stop { Halt::Person } else { ending.halt };
    let next = after(Attempt {
        end: &performance.end,
        halt,
        failures: run.facts.failures,
        retry: ending.retry,
        now_ms: ending.now_ms,
        dice: ending.dice,
    });
    run.facts.exit_code = performance.exit_code;
    run.facts.wrote.clone_from(&ending.wrote);
    run.facts.session.clone_from(&performance.session);
    run.facts.patch = performance.patch.as_ref().map(|path| path.display().to_string());
    run.facts.usage.tokens = run.facts.usage.tokens.saturating_add(performance.usage.tokens);
    run.facts.usage.micro_usd = run.facts.usage.micro_usd.saturating_add(performance.usage.micro_usd);
    run.facts.left = ending.left.get(&run.key.subject).map(|content| content.clone().unwrap_or_default());
    proceed(&mut run, next, ending.now_ms);
    shelf.save(&mut run)?;
    shelf.forget_live(run.number)?;
    for (path, content) in &ending.left {
        shelf.forget_left(&run.key.workspace, path)?;
        let write = Write {
            path: path.clone(),
            run: run.number,
            state: WriteState::Left,
            content: content.clone(),
            at_ms: ending.now_ms,
        };
        shelf.keep_write(&run.key.workspace, &write)?;
    }
    if performance.usage != crate::contract::Usage::default() {
        shelf.spend(&run.key.workspace, &run.key.hook, day(ending.now_ms), performance.usage)?;
    }
    if !performance.output.is_empty() {
        shelf.keep_output(run.number, &performance.output)?;
    }
    Ok(run)
}

fn proceed(run: &mut Run, next: Next, now_ms: u64) {
    match next {
        Next::Over { status, reason } => run.end(status, reason, now_ms),
        Next::Again { not_before_ms, failed, reason } => {
            if failed == Failed::Yes {
                run.facts.failures = run.facts.failures.saturating_add(1);
            }
            run.wait_until(not_before_ms, reason);
        }
    }
}

/// Settles an attempt whose process died and whose end nobody knows. A person who wanted it to stop has it stopped.
pub(crate) fn abandon(shelf: &mut dyn Shelf, ticket: &Ticket, now_ms: u64) -> Result<Run, BookError> {
    let mut run = held(shelf, ticket)?;
    run.facts.interruptions = run.facts.interruptions.saturating_add(1);
    let next = match run.stop {
        true => Next::Over { status: Status::Canceled, reason: "somebody took it back".to_owned() },
        false => after_death(run.facts.interruptions, now_ms),
    };
    proceed(&mut run, next, now_ms);
    shelf.save(&mut run)?;
    shelf.forget_live(run.number)?;
    Ok(run)
}

fn held(shelf: &mut dyn Shelf, ticket: &Ticket) -> Result<Run, BookError> {
    let run = shelf.find(ticket.number)?;
    let ours = |run: &Run| {
        run.status == Status::Running && run.owner.as_ref() == Some(&ticket.owner) && run.attempts == ticket.attempt
    };
    run.filter(ours).ok_or(BookError::Fenced)
}

/// Takes a run back: one that waits ends, one that goes is asked to stop.
pub(crate) fn take_back(shelf: &mut dyn Shelf, id: &RunId, now_ms: u64) -> Result<Run, BookError> {
    let unknown = || RunsError::Unknown { what: "run", name: id.0.clone() };
    let mut run = shelf.named(id)?.ok_or_else(unknown)?;
    match run.status {
        Status::Queued => run.end(Status::Canceled, "somebody took it back", now_ms),
        Status::Running => {
            run.stop = true;
            "it is being stopped".clone_into(&mut run.reason);
        }
        over => return Err(RunsError::Refused(format!("the run is over: {}", over.word())).into()),
    }
    shelf.save(&mut run)?;
    Ok(run)
}
