//! What follows the end of an attempt: the end of the run, or a wait before the next attempt.

use crate::contract::{Retry, Status};
use crate::performer::{Again, End};

/// The longest wait before a repetition.
const MAX_BACKOFF_MS: u64 = 10 * 60 * 1000;
/// How far chance moves a wait, in parts of a hundred.
const JITTER_PERCENT: u64 = 20;
/// How many times a run may lose its process before it is given up, as one that is the cause of it. Whoever ends the
/// process again and again for reasons of their own must not meet this.
pub(crate) const MAX_INTERRUPTIONS: u32 = 10;

/// Who wanted an attempt to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Halt {
    /// Nobody.
    None,
    /// A person took the run back.
    Person,
    /// The program ends.
    Drain,
}

/// What follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    Over { status: Status, reason: String },
    Again { not_before_ms: u64, failed: Failed, reason: String },
}

/// Whether an attempt that is made again counts as a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failed {
    Yes,
    No,
}

/// How an attempt ended, among which others.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attempt<'a> {
    pub(crate) end: &'a End,
    pub(crate) halt: Halt,
    /// Failures before this one.
    pub(crate) failures: u32,
    pub(crate) retry: Retry,
    pub(crate) now_ms: u64,
    /// A random number.
    pub(crate) dice: u64,
}

/// Decides what follows.
pub(crate) fn after(attempt: Attempt<'_>) -> Next {
    let over = |status, reason: &str| Next::Over { status, reason: reason.to_owned() };
    match (attempt.end, attempt.halt) {
        (End::Success, _) => over(Status::Success, ""),
        (_, Halt::Person) => over(Status::Canceled, "somebody took it back"),
        (End::Canceled, Halt::Drain) => Next::Again {
            not_before_ms: attempt.now_ms,
            failed: Failed::No,
            reason: "it was stopped because the program ended".to_owned(),
        },
        (End::Canceled, Halt::None) => over(Status::Canceled, "it was stopped"),
        (End::Failed { reason, again: Again::Useless }, _) => over(Status::Failed, reason),
        (End::Failed { reason, again: Again::Worthwhile }, _) => repeated(attempt, Status::Failed, reason),
        (End::Timeout, _) => repeated(attempt, Status::Timeout, "it took too long"),
    }
}

fn repeated(attempt: Attempt<'_>, status: Status, reason: &str) -> Next {
    if attempt.failures >= attempt.retry.count {
        return Next::Over { status, reason: reason.to_owned() };
    }
    let wait_ms = backoff_ms(attempt.retry, attempt.failures, attempt.dice);
    let number = attempt.failures + 1;
    Next::Again {
        not_before_ms: attempt.now_ms.saturating_add(wait_ms),
        failed: Failed::Yes,
        reason: format!("repetition {number} of {} follows: {reason}", attempt.retry.count),
    }
}

/// The wait before the repetition that follows `failures` earlier ones.
fn backoff_ms(retry: Retry, failures: u32, dice: u64) -> u64 {
    let exponent = i32::try_from(failures).unwrap_or(i32::MAX);
    let wait = retry.backoff_ms as f64 * retry.backoff_factor.max(1.0).powi(exponent);
    let wait_ms = if wait.is_finite() { (wait as u64).min(MAX_BACKOFF_MS) } else { MAX_BACKOFF_MS };
    let percent = 100 - JITTER_PERCENT + dice % (2 * JITTER_PERCENT + 1);
    wait_ms.saturating_mul(percent).div_euclid(100).min(MAX_BACKOFF_MS)
}

/// What follows the death of a process, for a run whose end nobody knows.
pub(crate) fn after_death(interruptions: u32, now_ms: u64) -> Next {
    if interruptions >= MAX_INTERRUPTIONS {
        let reason = format!("interrupted {interruptions} times: its process died each time");
        return Next::Over { status: Status::Failed, reason };
    }
    let reason = "its process died; it is begun again".to_owned();
    Next::Again { not_before_ms: now_ms, failed: Failed::No, reason }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const RETRY: Retry = Retry { count: 2, backoff_ms: 1_000, backoff_factor: 2.0 };

    fn attempt(end: &End, halt: Halt, failures: u32) -> Next {
        after(Attempt { end, halt, failures, retry: RETRY, now_ms: 10_000, dice: JITTER_PERCENT })
    }

    fn failed(again: Again) -> End {
        End::Failed { reason: "exit 1".into(), again }
    }

    #[test]
    fn every_end_has_its_consequence() {
        use Again::{Useless, Worthwhile};
        let status = |next: Next| match next {
            Next::Over { status, .. } => Ok(status),
            Next::Again { not_before_ms, failed, .. } => Err((not_before_ms, failed)),
        };
        let table = [
            (End::Success, Halt::None, 0, Ok(Status::Success)),
            (End::Success, Halt::Person, 0, Ok(Status::Success)),
            (failed(Useless), Halt::None, 0, Ok(Status::Failed)),
            (failed(Worthwhile), Halt::None, 0, Err((11_000, Failed::Yes))),
            (failed(Worthwhile), Halt::None, 1, Err((12_000, Failed::Yes))),
            (failed(Worthwhile), Halt::None, 2, Ok(Status::Failed)),
            (failed(Worthwhile), Halt::Person, 0, Ok(Status::Canceled)),
            (End::Timeout, Halt::None, 0, Err((11_000, Failed::Yes))),
            (End::Timeout, Halt::None, 2, Ok(Status::Timeout)),
            (End::Canceled, Halt::Person, 0, Ok(Status::Canceled)),
            (End::Canceled, Halt::Drain, 0, Err((10_000, Failed::No))),
            (End::Canceled, Halt::None, 0, Ok(Status::Canceled)),
        ];
        for (end, halt, failures, expected) in table {
            assert_eq!(status(attempt(&end, halt, failures)), expected, "{end:?} {halt:?} {failures}");
        }
    }

    #[test]
    fn what_fails_says_why_while_it_waits() {
        let Next::Again { reason, .. } = attempt(&failed(Again::Worthwhile), Halt::None, 0) else { panic!() };
        assert_eq!(reason, "repetition 1 of 2 follows: exit 1");
    }

    #[test]
    fn a_run_that_kills_its_process_is_given_up() {
        assert!(matches!(after_death(1, 0), Next::Again { .. }));
        assert!(matches!(after_death(MAX_INTERRUPTIONS - 1, 0), Next::Again { .. }));
        assert!(matches!(after_death(MAX_INTERRUPTIONS, 0), Next::Over { status: Status::Failed, .. }));
    }

    proptest! {
        #[test]
        fn waits_stay_within_their_bounds(
            backoff_ms in any::<u64>(), factor in prop::num::f64::ANY, failures in any::<u32>(), dice in any::<u64>()
        ) {
            let retry = Retry { count: 1, backoff_ms, backoff_factor: factor };
            prop_assert!(super::backoff_ms(retry, failures, dice) <= MAX_BACKOFF_MS);
        }

        #[test]
        fn chance_moves_a_wait_by_a_fifth(dice in any::<u64>()) {
            let wait = backoff_ms(RETRY, 1, dice);
            prop_assert!((1_600..=2_400).contains(&wait));
        }
    }
}
