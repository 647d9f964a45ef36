//! A prompt answered by our own agent: an input of a session, so that it is queued, guarded and recorded as any other.

mod label;
mod mark;
mod permissions;
mod tally;

use super::output_redactor::OutputRedactor;
use super::prompt::prompt;
use super::run_state_folder::RunStateFolder;
use super::stop::{EarlyStop, stopped};
use super::{RunAttempt, RunnerPorts, ended, failed};
use crate::contract::{RunId, RunPlace, SessionScope};
use crate::run_executor::{RetryAdvice, RunEnd, RunResult};
use dispatch_contracts::ports::Clock;
use dispatch_contracts::provider::ProviderErrorKind;
use dispatch_contracts::turn::TurnEnd;
use ext_session_orchestrator::contract::{
    Ask, CancelOutcome, DispatchId, DispatchState, DispatchView, SessionEvents, Sessions, SessionsError, Submission,
};
use futures_util::StreamExt;
use futures_util::future::{Either, select};
use mark::DispatchMark;
use std::path::Path;
use std::sync::Arc;
use tally::{TurnTallies, TurnTally};

/// Who sent the input, for people who look at the session.
const SOURCE: &str = "workspace-hook";
/// How long a turn that was told to stop may take to do so.
const SETTLE_MS: u64 = 15_000;
/// How long the last rows of a turn that is over may take to come.
const LAST_ROWS_MS: u64 = 5_000;

pub(super) async fn run(
    attempt: &RunAttempt<'_>,
    sessions: Option<&Arc<dyn Sessions>>,
    scope: SessionScope,
    text: &str,
) -> RunResult {
    let Some(sessions) = sessions else {
        return failed(
            "the agent of Dispatch is not available: the extension session-orchestrator is disabled",
            RetryAdvice::Useless,
        );
    };
    let label = label::of(attempt, scope);
    let result = match prompt(attempt, text) {
        Err(end) => ended(end),
        Ok(prompt) => match answer(attempt, sessions.as_ref(), &label, prompt).await {
            Ok(result) => result,
            Err(error) => ended(refused(&attempt.redactor, &error)),
        },
    };
    RunResult { session: Some(label), ..result }
}

async fn answer(
    attempt: &RunAttempt<'_>,
    sessions: &dyn Sessions,
    label: &str,
    prompt: String,
) -> Result<RunResult, SessionsError> {
    let job = attempt.job;
    let file = attempt.state_folder.dispatch_mark(&job.run, job.attempt);
    let mut mark = DispatchMark::new(file, label, &job.hook.secret_patterns);
    mark.keep();
    // Watching begins first, so that no row falls between.
    let mut events = sessions.watch(label, None).await?;
    let submission = Submission {
        session: label.to_owned(),
        text: prompt,
        id: Some(sender_id(&job.run, job.attempt)),
        source: SOURCE.to_owned(),
        ask: permissions::ask(job.hook.permissions),
        rules: permissions::rules(job.hook.permissions),
        workdir: Some(attempt.folder.clone()),
        secret_patterns: job.hook.secret_patterns.clone(),
        ..Submission::default()
    };
    let receipt = sessions.submit(submission).await?;
    mark.dispatch = Some(receipt.dispatch.clone());
    mark.keep();
    if !receipt.fresh {
        // The same attempt before us has begun it: its rows may be stored already.
        events = sessions.watch(label, Some(0)).await?;
    }
    let mut tallies = TurnTallies::new(&attempt.folder);
    let (view, stop) = follow(attempt, sessions, &receipt.dispatch, &mut events, &mut tallies).await?;
    let tally = last_rows(attempt.clock, &view, &mut events, tallies).await;
    Ok(result(attempt, &view, stop, tally))
}

/// Follows the input until it is over; takes it back when the attempt has to stop.
async fn follow(
    attempt: &RunAttempt<'_>,
    sessions: &dyn Sessions,
    dispatch: &DispatchId,
    events: &mut SessionEvents,
    tallies: &mut TurnTallies,
) -> Result<(DispatchView, Option<EarlyStop>), SessionsError> {
    let stop = Box::pin(stopped(&attempt.job.cancel, attempt.clock, attempt.deadline));
    let mut over = select(sessions.wait(dispatch), stop);
    let stop = loop {
        match select(&mut over, events.next()).await {
            Either::Left((Either::Left((view, _)), _)) => return Ok((view?, None)),
            Either::Left((Either::Right((stop, _)), _)) => break stop,
            Either::Right((Some(event), _)) => {
                tallies.take(event);
                let touched = tallies.take_touched();
                if attempt.place == RunPlace::Tree {
                    attempt.writes.extend(touched);
                }
            }
            // Nothing more will be told; the end will.
            Either::Right((None, _)) => match (&mut over).await {
                Either::Left((view, _)) => return Ok((view?, None)),
                Either::Right((stop, _)) => break stop,
            },
        }
    };
    Ok((take_back(sessions, attempt.clock, dispatch).await?, Some(stop)))
}

/// Takes an input back and waits until its turn has really stopped, within reason.
async fn take_back(
    sessions: &dyn Sessions,
    clock: &Arc<dyn Clock>,
    dispatch: &DispatchId,
) -> Result<DispatchView, SessionsError> {
    if sessions.cancel(dispatch).await? == CancelOutcome::TooLate {
        return sessions.dispatch(dispatch).await;
    }
    match select(sessions.wait(dispatch), clock.sleep_ms(SETTLE_MS)).await {
        Either::Left((view, _)) => view,
        Either::Right(_) => sessions.dispatch(dispatch).await,
    }
}

/// What the turn came to, once its last row is there.
async fn last_rows(
    clock: &Arc<dyn Clock>,
    view: &DispatchView,
    events: &mut SessionEvents,
    mut tallies: TurnTallies,
) -> TurnTally {
    let Some(turn) = &view.turn else { return TurnTally::default() };
    let mut enough = clock.sleep_ms(LAST_ROWS_MS);
    while view.state.is_over() && !tallies.is_complete(turn) {
        match select(events.next(), &mut enough).await {
            Either::Left((Some(event), _)) => tallies.take(event),
            Either::Left((None, _)) | Either::Right(_) => break,
        }
    }
    tallies.remove(turn)
}

fn result(attempt: &RunAttempt<'_>, view: &DispatchView, stop: Option<EarlyStop>, tally: TurnTally) -> RunResult {
    let end = match (end_of(&attempt.redactor, view, tally.end.as_ref()), stop) {
        (RunEnd::Success, _) if tally.was_refused() => RunEnd::Refused {
            reason: attempt.redactor.sentence(&permissions::refusal(attempt.job.hook.permissions, tally.refused())),
        },
        // It came to its end before it could be stopped.
        (RunEnd::Success, _) => RunEnd::Success,
        (_, Some(stop)) => stop.end(),
        (end, None) => end,
    };
    let wrote = match attempt.place {
        RunPlace::Tree => tally.wrote(),
        RunPlace::Patch => Vec::new(),
    };
    RunResult { output: attempt.redactor.output(&tally.text()), usage: tally.usage(), wrote, ..ended(end) }
}

fn end_of(redactor: &OutputRedactor, view: &DispatchView, turn: Option<&TurnEnd>) -> RunEnd {
    let failed = |reason: String, again| RunEnd::Failed { reason: redactor.sentence(&reason), again };
    match (view.state, turn) {
        (DispatchState::Done, Some(TurnEnd::Finished)) => RunEnd::Success,
        (DispatchState::Done, Some(end)) => of_turn(redactor, end),
        (DispatchState::Done, None) => {
            failed("the turn is over, but its last row could not be read".to_owned(), RetryAdvice::Worthwhile)
        }
        (DispatchState::Cancelled, _) => RunEnd::Canceled,
        (DispatchState::Refused, _) => failed(format!("the session refused it: {}", view.reason), RetryAdvice::Useless),
        (state, _) => failed(format!("the session left it {}: {}", state.word(), view.reason), RetryAdvice::Worthwhile),
    }
}

fn of_turn(redactor: &OutputRedactor, end: &TurnEnd) -> RunEnd {
    let failed = |reason: &str, again| RunEnd::Failed { reason: redactor.sentence(reason), again };
    match end {
        TurnEnd::Finished => RunEnd::Success,
        TurnEnd::Cancelled => failed("the turn was stopped", RetryAdvice::Worthwhile),
        TurnEnd::LimitReached { limit } => {
            failed(&format!("the turn reached its limit: {limit:?}"), RetryAdvice::Worthwhile)
        }
        TurnEnd::ProviderFailed { error } => {
            let hopeless = matches!(
                error.kind,
                ProviderErrorKind::Auth | ProviderErrorKind::InvalidRequest | ProviderErrorKind::ContextLength
            );
            failed(&error.message, if hopeless { RetryAdvice::Useless } else { RetryAdvice::Worthwhile })
        }
        TurnEnd::StoreFailed { message } | TurnEnd::Faulted { message } => failed(message, RetryAdvice::Worthwhile),
    }
}

fn refused(redactor: &OutputRedactor, error: &SessionsError) -> RunEnd {
    let again = match error {
        SessionsError::Invalid(_) | SessionsError::Unknown { .. } => RetryAdvice::Useless,
        SessionsError::Full { .. }
        | SessionsError::Draining
        | SessionsError::Conversation(_)
        | SessionsError::Storage(_) => RetryAdvice::Worthwhile,
    };
    RunEnd::Failed { reason: redactor.sentence(&error.to_string()), again }
}

/// The same for a repeated delivery of the same attempt.
fn sender_id(run: &RunId, attempt: u32) -> String {
    format!("{SOURCE}:{run}:{attempt}")
}

/// What became of an attempt whose process died: its input lives in the session's queue and may have been answered.
/// One that was not is taken back, so that it cannot be answered beside its repetition.
pub(super) async fn settle(
    ports: &RunnerPorts,
    state_folder: &RunStateFolder,
    run: &RunId,
    attempt: u32,
) -> Option<RunResult> {
    let sessions = ports.sessions.as_ref()?.as_ref();
    let mark = DispatchMark::read(&state_folder.dispatch_mark(run, attempt))?;
    let dispatch = match mark.dispatch {
        Some(dispatch) => dispatch,
        None => find(sessions, &mark.session, sender_id(run, attempt)).await?,
    };
    let view = take_back(sessions, &ports.clock, &dispatch).await.ok()?;
    if view.state != DispatchState::Done {
        return None;
    }
    let mut events = sessions.watch(&mark.session, Some(0)).await.ok()?;
    let tally = last_rows(&ports.clock, &view, &mut events, TurnTallies::new(Path::new(""))).await;
    let redactor = OutputRedactor::with(ports, &mark.secret_patterns, Vec::new()).ok()?;
    // A turn that was stopped does not end the run: it begins again.
    let end = match tally.end.as_ref()? {
        TurnEnd::Cancelled => return None,
        TurnEnd::Finished if tally.was_refused() => {
            RunEnd::Refused { reason: redactor.sentence(&permissions::refusal_of(tally.refused())) }
        }
        end => of_turn(&redactor, end),
    };
    Some(RunResult {
        output: redactor.output(&tally.text()),
        usage: tally.usage(),
        session: Some(mark.session),
        ..ended(end)
    })
}

/// The input that a dead process may or may not have sent: the same id finds it, and makes none that would run.
async fn find(sessions: &dyn Sessions, session: &str, id: String) -> Option<DispatchId> {
    let text = "This run was interrupted before it began; there is nothing to do.".to_owned();
    let again = Submission {
        session: session.to_owned(),
        text,
        id: Some(id),
        source: SOURCE.to_owned(),
        ask: Ask::None,
        ..Submission::default()
    };
    Some(sessions.submit(again).await.ok()?.dispatch)
}
