//! What can end an attempt before it ends by itself.

use dispatch_contracts::cancel::CancelToken;
use dispatch_contracts::ports::Clock;
use dispatch_os::Deadline;
use futures_util::future::{Either, select};
use std::future::Future;
use std::sync::Arc;

use super::RunAttempt;
use crate::run_executor::RunEnd;

/// Why an attempt is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EarlyStop {
    Canceled,
    TimeIsUp,
}

impl EarlyStop {
    pub(super) fn end(self) -> RunEnd {
        match self {
            Self::Canceled => RunEnd::Canceled,
            Self::TimeIsUp => RunEnd::Timeout,
        }
    }
}

/// Resolves when the attempt has to stop.
pub(super) async fn stopped(cancel: &CancelToken, clock: &Arc<dyn Clock>, deadline: Deadline) -> EarlyStop {
    match select(cancel.cancelled(), clock.sleep_ms(deadline.remaining_ms())).await {
        Either::Left(_) => EarlyStop::Canceled,
        Either::Right(_) => EarlyStop::TimeIsUp,
    }
}

/// The work's result, or why it was given up.
pub(super) async fn or_stopped<T>(attempt: &RunAttempt<'_>, work: impl Future<Output = T>) -> Result<T, EarlyStop> {
    let stop = std::pin::pin!(stopped(&attempt.job.cancel, attempt.clock, attempt.deadline));
    match select(std::pin::pin!(work), stop).await {
        Either::Left((value, _)) => Ok(value),
        Either::Right((stop, _)) => Err(stop),
    }
}
