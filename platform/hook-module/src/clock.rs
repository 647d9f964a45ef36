//! Time as the pipeline sees it, so that budgets can be tested without waiting.

use std::time::{Duration, Instant};

/// The two clocks of one invocation.
pub trait Clock {
    /// Wall time in Unix milliseconds.
    fn unix_ms(&self) -> i64;
    /// Time since the invocation began; never goes back.
    fn elapsed(&self) -> Duration;
}

/// The system's clocks.
#[derive(Debug, Clone, Copy)]
pub struct SystemClock {
    started: Instant,
}

impl SystemClock {
    /// The invocation begins now.
    #[must_use]
    pub fn start() -> Self {
        Self { started: Instant::now() }
    }

    /// When the invocation began.
    #[must_use]
    pub fn started(&self) -> Instant {
        self.started
    }
}

impl Clock for SystemClock {
    fn unix_ms(&self) -> i64 {
        dispatch_os::time::unix_ms()
    }

    fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }
}

/// Milliseconds with three digits, as records show durations.
#[must_use]
pub fn milliseconds(duration: Duration) -> f64 {
    let micros = u32::try_from(duration.as_micros()).unwrap_or(u32::MAX);
    f64::from(micros) / 1_000.0
}
