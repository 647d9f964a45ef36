//! Time as the pipeline sees it, so that budgets can be tested without waiting.
//!
//! Pure.

use std::time::Duration;

/// The clocks of one invocation.
pub trait Clock {
    /// Wall time in Unix milliseconds.
    fn unix_ms(&self) -> i64;
    /// Time since the invocation began; never goes back.
    fn elapsed(&self) -> Duration;
    /// What counts against the budget: the time that was worked, where the machine's pauses can be told from it.
    fn spent(&self) -> Duration {
        self.elapsed()
    }
}

/// Milliseconds with three digits, as records show durations.
#[must_use]
pub fn milliseconds(duration: Duration) -> f64 {
    let micros = u32::try_from(duration.as_micros()).unwrap_or(u32::MAX);
    f64::from(micros) / 1_000.0
}
