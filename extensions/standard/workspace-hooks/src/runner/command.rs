//! A hook that runs a plain program: a list of words, never a shell line, with the event on standard input.

use super::{RunAttempt, child, event_json, failed};
use crate::run_executor::{RetryAdvice, RunResult};

pub(super) async fn run(attempt: &RunAttempt<'_>, words: &[String]) -> RunResult {
    let Some(spec) = child::spec(attempt, words) else {
        return failed("the command is empty", RetryAdvice::Useless);
    };
    let event = format!("{}\n", event_json::event(attempt));
    child::run(attempt, spec.stdin(event), None).await.0
}
