//! The clocks of the operating system, for invocations outside of tests.

use std::time::Duration;

use dispatch_os::time::{self, Instant};

use crate::clock::Clock;

/// The system's clocks. The thread that starts it is the one whose work is counted.
#[derive(Debug, Clone, Copy)]
pub struct SystemClock {
    started: Instant,
    processor_time_before: Duration,
}

impl SystemClock {
    /// The invocation begins now.
    #[must_use]
    pub fn start() -> Self {
        Self { started: time::now(), processor_time_before: time::thread_processor_time() }
    }

    /// When the invocation began.
    #[must_use]
    pub fn started(&self) -> Instant {
        self.started
    }
}

impl Clock for SystemClock {
    fn unix_ms(&self) -> i64 {
        time::unix_ms()
    }

    fn elapsed(&self) -> Duration {
        time::since(self.started)
    }

    fn spent(&self) -> Duration {
        time::thread_processor_time().saturating_sub(self.processor_time_before)
    }
}
