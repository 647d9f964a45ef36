//! Runs a program on its own thread: bounded, guarded, stopped when the caller gives up, its output without secrets.

use super::live_output::LiveOutput;
use super::output::Transcript;
use super::reply::{AgentReply, ReplyReader};
use super::{RunAttempt, child_record, ended, failed};
use crate::contract::RunPlace;
use crate::lsp::CONTENT_FILE;
use crate::run_executor::{RetryAdvice, RunEnd, RunResult};
use dispatch_contracts::cancel::CancelToken;
use dispatch_os::files;
use dispatch_os::threads::offload;
use dispatch_os::{Canceller, CaptureLimit, ChildOutcome, ChildSpec, DescendantPolicy, StartCause, StartFailure};
use futures_util::future::{Either, select};
use serde_json::Value;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How long a program has to end by itself when it is stopped.
const GRACE: Duration = Duration::from_secs(2);

/// A program to run for an attempt: where it works and what it may see are already said.
pub(super) fn spec(attempt: &RunAttempt<'_>, words: &[String]) -> Option<ChildSpec> {
    let (program, arguments) = words.split_first()?;
    let job = attempt.job;
    let mut child = ChildSpec::new(program)
        .args(arguments)
        .working_folder(&attempt.folder)
        .descendants(DescendantPolicy::Guarded)
        .timeout(attempt.deadline.remaining())
        .grace(GRACE)
        .capture(CaptureLimit::NOTHING)
        .variable("DISPATCH_HOOK_ID", &job.hook.id)
        .variable("DISPATCH_RUN_ID", &job.run.0);
    // The copy of what is to be saved goes with the editor; a run that is later has the saved file.
    let copy = job.metadata.get(CONTENT_FILE).and_then(Value::as_str).map(PathBuf::from);
    if let Some(file) = copy.filter(|copy| files::is_file(copy)).or_else(|| super::event_json::first_file(attempt)) {
        child = child.variable("DISPATCH_FILE", file);
    }
    for name in &job.hook.pass_env {
        child = child.pass_variable(name);
    }
    if attempt.place == RunPlace::Patch {
        for (name, value) in super::patch::WITHOUT_HOOKS {
            child = child.variable(name, value);
        }
    }
    Some(child)
}

/// Runs the program to its end. What it reports about itself is in the reply, if there is a reader.
pub(super) async fn run(
    attempt: &RunAttempt<'_>,
    child: ChildSpec,
    reader: Option<ReplyReader>,
) -> (RunResult, Option<AgentReply>) {
    // A worktree goes with the process, so an end that is found later would be worth nothing.
    let child = match attempt.place {
        RunPlace::Tree => {
            let child = child_record::mark_exit(child, &attempt.state_folder.exit_marker_for(attempt.job));
            child_record::observe(child, &attempt.job.workspace, &attempt.writes)
        }
        RunPlace::Patch => child,
    };
    let live = LiveOutput::create(&attempt.state_folder.live_output(&attempt.job.run, attempt.job.attempt));
    let transcript = Transcript::shown_in(&attempt.redactor.redactor(), live);
    let gathered = Arc::new(Mutex::new((transcript, reader)));
    let gathering = Arc::clone(&gathered);
    let outcome = blocking("workspace hook", &attempt.job.cancel, move |canceller| {
        child.run_with(canceller, &mut |stream, piece| {
            let mut gathered = gathering.lock().unwrap_or_else(PoisonError::into_inner);
            gathered.0.push(stream, piece);
            if let (dispatch_os::OutputStream::Stdout, Some(reader)) = (stream, &mut gathered.1) {
                reader.push(piece);
            }
        })
    });
    let outcome = match outcome.await {
        Ok(outcome) => outcome,
        Err(reason) => return (failed(reason, RetryAdvice::Worthwhile), None),
    };
    if outcome.wrote.is_none()
        && attempt.place == RunPlace::Tree
        && !matches!(outcome.end, dispatch_os::ChildEnd::FailedToStart(_))
    {
        attempt.is_blind.store(true, Ordering::Relaxed);
    }
    let Some(gathered) = Arc::into_inner(gathered) else {
        return (failed("the output could not be read", RetryAdvice::Worthwhile), None);
    };
    let (transcript, reader) = gathered.into_inner().unwrap_or_else(PoisonError::into_inner);
    let (output, last_error) = transcript.finish();
    let result = RunResult {
        end: end_of(attempt, &outcome, &last_error),
        exit_code: outcome.exit_code(),
        wrote: child_record::written(&outcome, &attempt.job.workspace),
        output,
        ..ended(RunEnd::Success)
    };
    (result, reader.and_then(ReplyReader::finish))
}

/// Runs work on its own thread, with a switch that is thrown when the attempt is cancelled or the caller gives up.
pub(super) async fn blocking<T: Send + 'static>(
    name: &str,
    cancel: &CancelToken,
    work: impl FnOnce(&Canceller) -> T + Send + 'static,
) -> Result<T, String> {
    // Dropped with this future, whether the work has ended or the caller gave up.
    let stop = StopOnDrop(Canceller::new());
    let canceller = stop.0.clone();
    let work = offload(name, move || work(&canceller)).map_err(|error| format!("cannot start a thread: {error}"))?;
    Ok(match select(work, cancel.cancelled()).await {
        Either::Left((value, _)) => value,
        Either::Right(((), work)) => {
            stop.0.cancel();
            work.await
        }
    })
}

/// The result of an attempt whose end was found later; what it printed is lost.
pub(super) fn settled(end: child_record::MarkedExit) -> RunResult {
    let (end, exit_code) = match end {
        child_record::MarkedExit::Code(0) => (RunEnd::Success, Some(0)),
        child_record::MarkedExit::Code(code) => (nonzero(code, ""), Some(code)),
        child_record::MarkedExit::Signal(signal) => (killed(signal), None),
    };
    let output = "[output lost: the process that collected it ended before the run]\n".to_owned();
    RunResult { exit_code, output, ..ended(end) }
}

fn end_of(attempt: &RunAttempt<'_>, outcome: &ChildOutcome, last_error: &str) -> RunEnd {
    match &outcome.end {
        dispatch_os::ChildEnd::Exited { code: 0 } => RunEnd::Success,
        dispatch_os::ChildEnd::Exited { code } => nonzero(*code, &attempt.redactor.sentence(last_error)),
        dispatch_os::ChildEnd::Signalled { signal } => killed(*signal),
        dispatch_os::ChildEnd::TimedOut => RunEnd::Timeout,
        dispatch_os::ChildEnd::Cancelled => RunEnd::Canceled,
        dispatch_os::ChildEnd::FailedToStart(failure) => not_started(attempt, failure),
        dispatch_os::ChildEnd::StatusUnknown => RunEnd::Failed {
            reason: "the program ended with an unknown status".to_owned(),
            again: RetryAdvice::Worthwhile,
        },
    }
}

fn nonzero(code: i32, last_error: &str) -> RunEnd {
    let said = if last_error.is_empty() { String::new() } else { format!(": {last_error}") };
    RunEnd::Failed { reason: format!("exit code {code}{said}"), again: RetryAdvice::Worthwhile }
}

fn killed(signal: i32) -> RunEnd {
    RunEnd::Failed { reason: format!("killed by signal {signal}"), again: RetryAdvice::Worthwhile }
}

fn not_started(attempt: &RunAttempt<'_>, failure: &StartFailure) -> RunEnd {
    let again = match failure.cause {
        StartCause::NotFound
        | StartCause::InterpreterNotFound
        | StartCause::NotExecutable
        | StartCause::BadWorkingFolder { .. }
        | StartCause::ArgumentsTooLong => RetryAdvice::Useless,
        _ => RetryAdvice::Worthwhile,
    };
    let hint = failure.hint().map(|hint| format!("; {hint}")).unwrap_or_default();
    RunEnd::Failed { reason: attempt.redactor.sentence(&format!("{failure}{hint}")), again }
}

struct StopOnDrop(Canceller);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}
