//! The deadline of the load or call in progress, asked by the interrupt handler and by the job pump.

use std::cell::Cell;
use std::time::Duration;

use dispatch_os::time::{self, Instant};

use crate::error::{ErrorKind, ScriptError};
use crate::grants::Alarm;

/// Times one entry into JavaScript after another.
#[derive(Default)]
pub(crate) struct DeadlineWatch {
    deadline: Cell<Option<Instant>>,
    outer: Cell<Option<Instant>>,
    /// Processor time of this thread at which every entry ends.
    processor: Cell<Option<Duration>>,
    /// How much that was when it was set.
    budget: Cell<Option<Duration>>,
    fired: Cell<bool>,
}

impl DeadlineWatch {
    /// Bounds every later entry, whatever its own budget.
    pub(crate) fn set_outer(&self, deadline: Option<Instant>) {
        self.outer.set(deadline);
    }

    /// Bounds every later entry by the processor time of this thread.
    pub(crate) fn set_processor_budget(&self, budget: Duration) {
        self.budget.set(Some(budget));
        self.processor.set(time::thread_processor_time().checked_add(budget));
    }

    /// The budget of processor time, where there is one.
    pub(crate) fn processor_budget(&self) -> Option<Duration> {
        self.budget.get()
    }

    /// Starts an entry; it lasts until the guard goes.
    pub(crate) fn enter<'a>(
        &'a self,
        budget: Duration,
        alarm: Option<&'a dyn Alarm>,
    ) -> Result<EntryGuard<'a>, ScriptError> {
        if self.fired.get() {
            return Err(ScriptError::new(ErrorKind::Engine, "this engine was stopped at its deadline; make a new one"));
        }
        let now = time::now();
        let own = now.checked_add(budget);
        let deadline = match (own, self.outer.get()) {
            (Some(own), Some(outer)) => Some(own.min(outer)),
            (own, outer) => own.or(outer),
        };
        self.deadline.set(deadline);
        if let (Some(alarm), Some(deadline)) = (alarm, deadline) {
            alarm.arm(deadline.saturating_duration_since(now));
        }
        Ok(EntryGuard { watch: self, alarm })
    }

    /// Whether the entry must stop now. Once true it stays true: jobs that were cut short cannot be taken back, so
    /// the engine is not used again.
    pub(crate) fn is_over(&self) -> bool {
        let worked = self.processor.get().is_some_and(|at| time::thread_processor_time() >= at);
        let over = worked || self.deadline.get().is_some_and(|deadline| time::now() >= deadline);
        if over {
            self.fired.set(true);
        }
        over
    }

    /// Whether an entry was stopped.
    pub(crate) fn has_fired(&self) -> bool {
        self.fired.get()
    }
}

/// An entry in progress.
pub(crate) struct EntryGuard<'a> {
    watch: &'a DeadlineWatch,
    alarm: Option<&'a dyn Alarm>,
}

impl Drop for EntryGuard<'_> {
    fn drop(&mut self) {
        self.watch.deadline.set(None);
        if let Some(alarm) = self.alarm {
            alarm.disarm();
        }
    }
}
