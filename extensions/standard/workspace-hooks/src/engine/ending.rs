//! What follows the end of an attempt: the end of the run, or a wait before the next attempt.

use crate::contract::{Retry, Status};
use crate::run_executor::{RetryAdvice, RunEnd};

/// The longest wait before a repetition.
const MAX_BACKOFF_MS: u64 = 10 * 60 * 1000;
/// How far chance moves a wait, in parts of a hundred.
const JITTER_PERCENT: u64 = 20;
/// How many times a run may lose its process before it is given up, as one that is the cause of it. Whoever ends the
/// process again and again for reasons of their own must not meet this.
pub(crate) const MAX_INTERRUPTIONS: u32 = 10;

/// Who wanted an attempt to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AttemptStop {
    /// Nobody.
    None,
    /// A person took the run back.
    Person,
    /// The program ends.
    Drain,
    /// Its files have changed again, and the hook wants to start over.
    Restart,
}

/// What follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum AttemptFollowUp {
    Over { status: Status, reason: String },
    Again { not_before_ms: u64, failed: CountsAsFailure, reason: String },
}

/// Whether an attempt that is made again counts as a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CountsAsFailure {
    Yes,
    No,
}

/// How an attempt ended, among which others.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AttemptOutcome<'a> {
    pub(crate) end: &'a RunEnd,
    pub(crate) halt: AttemptStop,
    /// Failures before this one.
    pub(crate) failures: u32,
    pub(crate) retry: Retry,
    /// The time limit; none if the hook is gone.
    pub(crate) timeout_ms: Option<u64>,
    pub(crate) now_ms: u64,
    /// A random number.
    pub(crate) random: u64,
}

/// Decides what follows.
pub(crate) fn after(attempt: AttemptOutcome<'_>) -> AttemptFollowUp {
    let over = |status, reason: &str| AttemptFollowUp::Over { status, reason: reason.to_owned() };
    match (attempt.end, attempt.halt) {
        (RunEnd::Success, _) => over(Status::Success, ""),
        (_, AttemptStop::Person) => over(Status::Canceled, "somebody took it back"),
        (RunEnd::Canceled, AttemptStop::Drain) => AttemptFollowUp::Again {
            not_before_ms: attempt.now_ms,
            failed: CountsAsFailure::No,
            reason: "it was stopped because the program ended".to_owned(),
        },
        (RunEnd::Canceled, AttemptStop::Restart) => over(Status::Canceled, "its files changed; a new run handles them"),
        (RunEnd::Canceled, AttemptStop::None) => over(Status::Canceled, "it was stopped"),
        (RunEnd::Refused { reason }, _) => over(Status::Refused, reason),
        (RunEnd::Failed { reason, again: RetryAdvice::Useless }, _) => over(Status::Failed, reason),
        (RunEnd::Failed { reason, again: RetryAdvice::Worthwhile }, _) => repeated(attempt, Status::Failed, reason),
        (RunEnd::Timeout, _) => repeated(attempt, Status::Timeout, &timed_out(attempt.timeout_ms)),
    }
}

fn timed_out(timeout_ms: Option<u64>) -> String {
    timeout_ms.map_or_else(|| "timed out".to_owned(), |ms| format!("timed out after {ms} ms (`timeoutMs`)"))
}

fn repeated(attempt: AttemptOutcome<'_>, status: Status, reason: &str) -> AttemptFollowUp {
    if attempt.failures >= attempt.retry.count {
        return AttemptFollowUp::Over { status, reason: reason.to_owned() };
    }
    let wait_ms = backoff_ms(attempt.retry, attempt.failures, attempt.random);
    let number = attempt.failures + 1;
    AttemptFollowUp::Again {
        not_before_ms: attempt.now_ms.saturating_add(wait_ms),
        failed: CountsAsFailure::Yes,
        reason: format!("repetition {number} of {} follows: {reason}", attempt.retry.count),
    }
}

/// The wait before the repetition that follows `failures` earlier ones.
fn backoff_ms(retry: Retry, failures: u32, random: u64) -> u64 {
    let exponent = i32::try_from(failures).unwrap_or(i32::MAX);
    let wait = retry.backoff_ms as f64 * retry.backoff_factor.max(1.0).powi(exponent);
    let wait_ms = if wait.is_finite() { (wait as u64).min(MAX_BACKOFF_MS) } else { MAX_BACKOFF_MS };
    let percent = 100 - JITTER_PERCENT + random % (2 * JITTER_PERCENT + 1);
    wait_ms.saturating_mul(percent).div_euclid(100).min(MAX_BACKOFF_MS)
}

/// What follows the death of a process, for a run whose end nobody knows.
pub(crate) fn after_death(interruptions: u32, now_ms: u64) -> AttemptFollowUp {
    if interruptions >= MAX_INTERRUPTIONS {
        let reason = format!("interrupted {interruptions} times: its process died each time");
        return AttemptFollowUp::Over { status: Status::Failed, reason };
    }
    let reason = "its process died; it is begun again".to_owned();
    AttemptFollowUp::Again { not_before_ms: now_ms, failed: CountsAsFailure::No, reason }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const RETRY: Retry = Retry { count: 2, backoff_ms: 1_000, backoff_factor: 2.0 };

    fn attempt(end: &RunEnd, halt: AttemptStop, failures: u32) -> AttemptFollowUp {
        let (timeout_ms, now_ms, random) = (Some(500), 10_000, JITTER_PERCENT);
        after(AttemptOutcome { end, halt, failures, retry: RETRY, timeout_ms, now_ms, random })
    }

    fn failed(again: RetryAdvice) -> RunEnd {
        RunEnd::Failed { reason: "exit 1".into(), again }
    }

    #[test]
    fn every_end_has_its_consequence() {
        use RetryAdvice::{Useless, Worthwhile};
        let status = |next: AttemptFollowUp| match next {
            AttemptFollowUp::Over { status, .. } => Ok(status),
            AttemptFollowUp::Again { not_before_ms, failed, .. } => Err((not_before_ms, failed)),
        };
        let table = [
            (RunEnd::Success, AttemptStop::None, 0, Ok(Status::Success)),
            (RunEnd::Success, AttemptStop::Person, 0, Ok(Status::Success)),
            (failed(Useless), AttemptStop::None, 0, Ok(Status::Failed)),
            (failed(Worthwhile), AttemptStop::None, 0, Err((11_000, CountsAsFailure::Yes))),
            (failed(Worthwhile), AttemptStop::None, 1, Err((12_000, CountsAsFailure::Yes))),
            (failed(Worthwhile), AttemptStop::None, 2, Ok(Status::Failed)),
            (failed(Worthwhile), AttemptStop::Person, 0, Ok(Status::Canceled)),
            (RunEnd::Timeout, AttemptStop::None, 0, Err((11_000, CountsAsFailure::Yes))),
            (RunEnd::Timeout, AttemptStop::None, 2, Ok(Status::Timeout)),
            (RunEnd::Canceled, AttemptStop::Person, 0, Ok(Status::Canceled)),
            (RunEnd::Canceled, AttemptStop::Drain, 0, Err((10_000, CountsAsFailure::No))),
            (RunEnd::Canceled, AttemptStop::None, 0, Ok(Status::Canceled)),
            (RunEnd::Canceled, AttemptStop::Restart, 0, Ok(Status::Canceled)),
            (RunEnd::Refused { reason: "no".into() }, AttemptStop::None, 0, Ok(Status::Refused)),
        ];
        for (end, halt, failures, expected) in table {
            assert_eq!(status(attempt(&end, halt, failures)), expected, "{end:?} {halt:?} {failures}");
        }
    }

    #[test]
    fn what_fails_says_why_while_it_waits() {
        let AttemptFollowUp::Again { reason, .. } = attempt(&failed(RetryAdvice::Worthwhile), AttemptStop::None, 0)
        else {
            panic!()
        };
        assert_eq!(reason, "repetition 1 of 2 follows: exit 1");
        let AttemptFollowUp::Over { reason, .. } = attempt(&RunEnd::Timeout, AttemptStop::None, 2) else { panic!() };
        assert_eq!(reason, "timed out after 500 ms (`timeoutMs`)");
    }

    #[test]
    fn a_run_that_kills_its_process_is_given_up() {
        assert!(matches!(after_death(1, 0), AttemptFollowUp::Again { .. }));
        assert!(matches!(after_death(MAX_INTERRUPTIONS - 1, 0), AttemptFollowUp::Again { .. }));
        assert!(matches!(after_death(MAX_INTERRUPTIONS, 0), AttemptFollowUp::Over { status: Status::Failed, .. }));
    }

    proptest! {
        #[test]
        fn waits_stay_within_their_bounds(
            backoff_ms in any::<u64>(), factor in prop::num::f64::ANY, failures in any::<u32>(), random in any::<u64>()
        ) {
            let retry = Retry { count: 1, backoff_ms, backoff_factor: factor };
            prop_assert!(super::backoff_ms(retry, failures, random) <= MAX_BACKOFF_MS);
        }

        #[test]
        fn chance_moves_a_wait_by_a_fifth(random in any::<u64>()) {
            let wait = backoff_ms(RETRY, 1, random);
            prop_assert!((1_600..=2_400).contains(&wait));
        }
    }
}
