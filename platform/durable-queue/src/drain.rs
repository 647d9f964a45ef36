//! The end of a worker: what runs gets a moment to finish, then it is told to stop.

use dispatch_contracts::ports::Clock;

/// How long running work may take to end by itself, and again once it is told to stop.
pub const DRAIN_MS: u64 = 3_000;
const LOOK_MS: u64 = 10;

/// Waits until `is_idle` says so, at most [`DRAIN_MS`]; then calls `stop` at every look and waits as long again.
pub async fn drain(clock: &dyn Clock, is_idle: impl Fn() -> bool + Send, stop: impl Fn() + Send) {
    for stops in [false, true] {
        let deadline_ms = clock.monotonic_ms().saturating_add(DRAIN_MS);
        while !is_idle() && clock.monotonic_ms() < deadline_ms {
            if stops {
                stop();
            }
            clock.sleep_ms(LOOK_MS).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dispatch_sim::Sim;
    use std::sync::atomic::{AtomicU64, Ordering};

    #[test]
    fn what_does_not_end_is_stopped_and_not_waited_for_without_limit() {
        let sim = Sim::new(1);
        let clock = sim.clock();
        let told = AtomicU64::new(0);
        let count = || {
            told.fetch_add(1, Ordering::Relaxed);
        };
        for (ends_after_ms, lasted_ms, is_told) in
            [(0, 0, false), (50, 50, false), (3_500, 3_500, true), (9_999, 6_000, true)]
        {
            told.store(0, Ordering::Relaxed);
            let began_ms = clock.monotonic_ms();
            let is_idle = || clock.monotonic_ms() - began_ms >= ends_after_ms;
            sim.block_on(drain(&clock, is_idle, count)).unwrap();
            let lasted = clock.monotonic_ms() - began_ms;
            assert_eq!((lasted, told.load(Ordering::Relaxed) > 0), (lasted_ms, is_told));
        }
    }
}
