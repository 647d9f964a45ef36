//! Who a turn waited for, and for how long.

use dispatch_contracts::ids::ExtensionId;
use dispatch_contracts::ports::Clock;
use dispatch_contracts::turn::Wait;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Adds up the waits of one turn, by extension and place.
#[derive(Debug, Default)]
pub struct WaitLog {
    waits: Mutex<BTreeMap<(ExtensionId, String), WaitTotal>>,
}

#[derive(Clone, Copy, Debug, Default)]
struct WaitTotal {
    ms: u64,
    times: u32,
}

impl WaitLog {
    /// A log without waits.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds one wait.
    pub fn record(&self, extension: &ExtensionId, place: &str, ms: u64) {
        let mut waits = self.lock();
        let spent = waits.entry((extension.clone(), place.to_owned())).or_default();
        spent.ms = spent.ms.saturating_add(ms);
        spent.times = spent.times.saturating_add(1);
    }

    /// All waits that took time, longest first.
    pub fn finish(&self) -> Vec<Wait> {
        let mut waits: Vec<Wait> = self
            .lock()
            .iter()
            .filter(|(_, spent)| spent.ms > 0)
            .map(|((extension, place), spent)| Wait {
                extension: extension.clone(),
                place: place.clone(),
                ms: spent.ms,
                times: spent.times,
            })
            .collect();
        waits.sort_by_key(|wait| std::cmp::Reverse(wait.ms));
        waits
    }

    /// Measures until the result is dropped, so that a wait that is given up counts too.
    pub(crate) fn measure<'a>(
        &'a self,
        clock: &'a dyn Clock,
        extension: &'a ExtensionId,
        place: &'a str,
    ) -> WaitMeasurement<'a> {
        WaitMeasurement { log: self, clock, extension, place, started_ms: clock.monotonic_ms() }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<(ExtensionId, String), WaitTotal>> {
        self.waits.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One wait that is going on.
pub(crate) struct WaitMeasurement<'a> {
    log: &'a WaitLog,
    clock: &'a dyn Clock,
    extension: &'a ExtensionId,
    place: &'a str,
    started_ms: u64,
}

impl Drop for WaitMeasurement<'_> {
    fn drop(&mut self) {
        let ms = self.clock.monotonic_ms().saturating_sub(self.started_ms);
        self.log.record(self.extension, self.place, ms);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_add_up_and_the_longest_comes_first() {
        let log = WaitLog::new();
        for (extension, place, ms) in [("a", "x/y", 5), ("b", "x/y", 900), ("a", "x/y", 7), ("c", "x/y", 0)] {
            log.record(&extension.into(), place, ms);
        }
        let seen: Vec<_> =
            log.finish().into_iter().map(|wait| (wait.extension.to_string(), wait.ms, wait.times)).collect();
        assert_eq!(seen, [("b".to_owned(), 900, 1), ("a".to_owned(), 12, 2)]);
    }
}
