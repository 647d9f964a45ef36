//! How soon a worker that keeps dying may be started again.
//!
//! Pure.

use std::time::Duration;

/// Failures in a row that are followed by an immediate restart.
pub(super) const FREE_RESTARTS: u32 = 3;
/// The first delay; each further failure doubles it.
pub(super) const FIRST_DELAY: Duration = Duration::from_millis(100);
/// The longest delay.
pub(super) const MAX_DELAY: Duration = Duration::from_secs(30);

/// Counts failures in a row.
#[derive(Debug, Default)]
pub(super) struct Backoff {
    failures: u32,
    /// By the monotonic clock.
    not_before_ms: Option<u64>,
}

impl Backoff {
    pub(super) fn succeeded(&mut self) {
        *self = Self::default();
    }

    pub(super) fn failed(&mut self, now_ms: u64) {
        self.failures = self.failures.saturating_add(1);
        self.not_before_ms = Some(now_ms.saturating_add(milliseconds(delay(self.failures))));
    }

    /// How long to wait still; nothing when a start is allowed.
    pub(super) fn wait(&self, now_ms: u64) -> Option<Duration> {
        let wait_ms = self.not_before_ms?.saturating_sub(now_ms);
        (wait_ms > 0).then(|| Duration::from_millis(wait_ms))
    }
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn delay(failures: u32) -> Duration {
    match failures.checked_sub(FREE_RESTARTS + 1) {
        None => Duration::ZERO,
        Some(doublings) => FIRST_DELAY.saturating_mul(2_u32.saturating_pow(doublings)).min(MAX_DELAY),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_grow_and_stop_growing() {
        let table = [(1, 0), (3, 0), (4, 100), (5, 200), (6, 400), (12, 25_600), (13, 30_000), (u32::MAX, 30_000)];
        for (failures, milliseconds) in table {
            assert_eq!(delay(failures), Duration::from_millis(milliseconds), "{failures}");
        }
    }

    #[test]
    fn success_clears_the_count() {
        let now = 1_000;
        let mut backoff = Backoff::default();
        for _ in 0..=FREE_RESTARTS {
            assert_eq!(backoff.wait(now), None);
            backoff.failed(now);
        }
        assert_eq!(backoff.wait(now), Some(FIRST_DELAY));
        assert_eq!(backoff.wait(now + milliseconds(FIRST_DELAY)), None);
        backoff.succeeded();
        assert_eq!(backoff.wait(now), None);
        backoff.failed(now);
        assert_eq!(backoff.wait(now), None);
    }
}
