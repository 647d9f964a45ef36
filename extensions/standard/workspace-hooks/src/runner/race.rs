//! What can end an attempt before it ends by itself.

use dispatch_contracts::cancel::CancelToken;
use dispatch_contracts::ports::Clock;
use dispatch_os::Deadline;
use futures_util::future::{Either, select};
use std::future::Future;
use std::sync::Arc;

use super::Attempt;
use crate::performer::End;

/// Why an attempt is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    Canceled,
    TimeIsUp,
}

impl Stop {
    pub(super) fn end(self) -> End {
        match self {
            Self::Canceled => End::Canceled,
            Self::TimeIsUp => End::Timeout,
        }
    }
}

/// Resolves when the attempt has to stop.
pub(super) async fn stopped(cancel: &CancelToken, clock: &Arc<dyn Clock>, deadline: Deadline) -> Stop {
    match select(cancel.cancelled(), clock.sleep_ms(deadline.remaining_ms())).await {
        Either::Left(_) => Stop::Canceled,
        Either::Right(_) => Stop::TimeIsUp,
    }
}

/// The work's result, or why it was given up.
pub(super) async fn or_stopped<T>(attempt: &Attempt<'_>, work: impl Future<Output = T>) -> Result<T, Stop> {
    let stop = std::pin::pin!(stopped(&attempt.assignment.cancel, attempt.clock, attempt.deadline));
    match select(std::pin::pin!(work), stop).await {
        Either::Left((value, _)) => Ok(value),
        Either::Right((stop, _)) => Err(stop),
    }
}
