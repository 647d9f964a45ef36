//! What tests play only where they may take an hour.

use std::ops::Range;

/// The slow lane is taken where this is 1.
const SLOW_VARIABLE: &str = "DISPATCH_SLOW_TESTS";
/// Sets the number of seeds of the slow lane.
const SEEDS_VARIABLE: &str = "DISPATCH_SLOW_SEEDS";
/// Sets the first seed of the slow lane.
const FIRST_VARIABLE: &str = "DISPATCH_FIRST_SEED";

/// Whether tests take the time that only a slow lane has.
#[must_use]
pub fn slow_lane() -> bool {
    std::env::var(SLOW_VARIABLE).is_ok_and(|value| value == "1")
}

/// The seeds to play: the first `fast` ones, in the slow lane the first `slow` or those that were asked for.
#[must_use]
pub fn seeds(fast: u64, slow: u64) -> Range<u64> {
    if !slow_lane() {
        return 1..fast + 1;
    }
    let first = told(FIRST_VARIABLE).unwrap_or(1);
    first..first + told(SEEDS_VARIABLE).unwrap_or(slow)
}

fn told(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|value| value.parse().unwrap_or_else(|_| panic!("{variable} is a number")))
}
