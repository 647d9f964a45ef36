//! The last resort: an answer that is ready before the work starts, for when the work does not end.

use std::cell::Cell;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use dispatch_hook_dialects::Reply;
use dispatch_os::alarm;

/// The longest an invocation may take by the wall clock, half of the shortest time limit that registrations set. A
/// budget that is longer counts instead.
const WALL_LIMIT: Duration = Duration::from_secs(5);

/// Is told what to answer if time runs out, and when that is.
pub trait Watch {
    /// From now on this is the answer.
    fn prepare(&self, reply: &Reply);
    /// Time runs out after this much work from now on.
    fn limit(&self, budget: Duration);
    /// If time runs out, this line goes to the end of the log: every invocation leaves its record.
    fn prepare_record(&self, _log: &Path, _line: &[u8]) {}
    /// This is the answer if the wall clock runs out before the call is judged.
    fn prepare_unjudged(&self, _reply: &Reply) {}
    /// And this the line for the log.
    fn prepare_unjudged_record(&self, _log: &Path, _line: &[u8]) {}
    /// The call is judged: whatever runs out now, the prepared answer holds.
    fn judged(&self) {}
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
#[derive(Default)]
pub(crate) struct AlarmWatch {
    budget: Cell<Option<Duration>>,
}

impl AlarmWatch {
    /// Keeps a first answer, for a panic. The alarm starts with the first limit.
    #[must_use]
    pub(crate) fn new(reply: &Reply) -> Self {
        remember(reply);
        Self::default()
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
        if self.budget.replace(Some(budget)) == Some(budget) {
            return;
        }
        let reply = PREPARED.lock().unwrap_or_else(PoisonError::into_inner).clone().unwrap_or_default();
        alarm::disarm();
        // If the system refuses, the work goes on unwatched.
        let _ = alarm::arm_budget(budget, WALL_LIMIT.max(budget), &reply.stdout, i32::from(reply.exit_code));
    }

    fn prepare_record(&self, log: &Path, line: &[u8]) {
        alarm::leave_line(log, line);
    }

    fn prepare_unjudged(&self, reply: &Reply) {
        alarm::prepare_starved(&reply.stdout, i32::from(reply.exit_code));
    }

    fn prepare_unjudged_record(&self, log: &Path, line: &[u8]) {
        alarm::leave_starved_line(log, line);
    }

    fn judged(&self) {
        alarm::forget_starved();
    }

    fn recorded(&self) {
        alarm::leave_nothing();
    }
}

fn remember(reply: &Reply) {
    *PREPARED.lock().unwrap_or_else(PoisonError::into_inner) = Some(reply.clone());
}
