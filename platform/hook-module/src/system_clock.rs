//! The clocks of the operating system, for invocations outside of tests.

use std::time::Duration;

use dispatch_os::time::{self, Instant};

use crate::clock::Clock;

/// The system's clocks.
#[derive(Debug, Clone, Copy)]
pub struct SystemClock {
    started: Instant,
}

impl SystemClock {
    /// The invocation begins now.
    #[must_use]
    pub fn start() -> Self {
        Self { started: time::now() }
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
}
