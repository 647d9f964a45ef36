//! The last resort: an answer that is ready before the work starts, for when the work does not end.

use std::cell::Cell;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use dispatch_hook_dialects::Reply;
use dispatch_hook_module::{Clock, SystemClock};
use dispatch_os::alarm;

/// Is told what to answer if time runs out, and when that is.
pub trait Watch {
    /// From now on this is the answer.
    fn prepare(&self, reply: &Reply);
    /// Time runs out this long after the invocation began.
    fn limit(&self, budget: Duration);
    /// If time runs out, this line goes to the end of the log: every invocation leaves its record.
    fn prepare_record(&self, _log: &Path, _line: &[u8]) {}
    /// The record is in the log, so none is to be added.
    fn recorded(&self) {}
}

/// Nobody watches; for dry runs and tests.
pub struct Unwatched;

impl Watch for Unwatched {
    fn prepare(&self, _: &Reply) {}
    fn limit(&self, _: Duration) {}
}

static PREPARED: Mutex<Option<Reply>> = Mutex::new(None);

/// The alarm of this process. There is one per process, because there is one standard output.
pub(crate) struct AlarmWatch {
    clock: SystemClock,
    limit: Cell<Duration>,
}

impl AlarmWatch {
    /// Starts the alarm with a first answer. If the system refuses, the work goes on unwatched.
    #[must_use]
    pub(crate) fn start(clock: SystemClock, limit: Duration, reply: &Reply) -> Self {
        remember(reply);
        let _ = alarm::arm(limit.saturating_sub(clock.elapsed()), &reply.stdout, i32::from(reply.exit_code));
        Self { clock, limit: Cell::new(limit) }
    }

    /// Gives the prepared answer and ends the process; for a panic hook.
    pub(crate) fn answer_prepared() -> ! {
        let reply = PREPARED.lock().unwrap_or_else(PoisonError::into_inner).clone().unwrap_or_default();
        Self::answer(&reply)
    }

    /// Gives this answer and ends the process, unless the alarm was first.
    pub(crate) fn answer(reply: &Reply) -> ! {
        if !reply.stderr.is_empty() {
            use std::io::Write as _;
            // A host that closed its end does not want to know.
            let _ = std::io::stderr().write_all(&reply.stderr);
        }
        alarm::answer(&reply.stdout, i32::from(reply.exit_code))
    }
}

impl Watch for AlarmWatch {
    fn prepare(&self, reply: &Reply) {
        remember(reply);
        alarm::prepare(&reply.stdout, i32::from(reply.exit_code));
    }

    fn limit(&self, budget: Duration) {
        if self.limit.replace(budget) == budget {
            return;
        }
        let reply = PREPARED.lock().unwrap_or_else(PoisonError::into_inner).clone().unwrap_or_default();
        alarm::disarm();
        let left = budget.saturating_sub(self.clock.elapsed());
        let _ = alarm::arm(left, &reply.stdout, i32::from(reply.exit_code));
    }

    fn prepare_record(&self, log: &Path, line: &[u8]) {
        alarm::leave_line(log, line);
    }

    fn recorded(&self) {
        alarm::leave_nothing();
    }
}

fn remember(reply: &Reply) {
    *PREPARED.lock().unwrap_or_else(PoisonError::into_inner) = Some(reply.clone());
}
