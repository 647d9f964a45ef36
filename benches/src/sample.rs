//! Repeated measurements: the best tells what the work costs, the median what a user sees.

use std::time::{Duration, Instant};

/// What was measured.
#[derive(Clone, Debug, Default)]
pub(crate) struct Samples {
    times: Vec<Duration>,
}

impl Samples {
    /// Adds one measurement.
    pub(crate) fn add(&mut self, time: Duration) {
        self.times.push(time);
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.times.len()
    }

    /// Adds all measurements of another.
    pub(crate) fn extend(&mut self, other: Self) {
        self.times.extend(other.times);
    }

    /// Runs the work some times and keeps how long each took.
    pub(crate) fn of(runs: u32, mut work: impl FnMut()) -> Self {
        let mut samples = Self::default();
        for _ in 0..runs {
            let start = Instant::now();
            work();
            samples.add(start.elapsed());
        }
        samples
    }

    /// The shortest, in microseconds.
    pub(crate) fn best_us(&self) -> f64 {
        self.times.iter().min().map_or(f64::NAN, |time| time.as_secs_f64() * 1e6)
    }

    /// The one in the middle, in microseconds.
    pub(crate) fn median_us(&self) -> f64 {
        self.percentile_us(50)
    }

    /// Their mean, in microseconds.
    pub(crate) fn mean_us(&self) -> f64 {
        self.times.iter().sum::<Duration>().as_secs_f64() * 1e6 / self.times.len() as f64
    }

    /// The one that so many of a hundred do not exceed, in microseconds.
    pub(crate) fn percentile_us(&self, percent: usize) -> f64 {
        let mut sorted = self.times.clone();
        sorted.sort();
        sorted.get(sorted.len() * percent / 100).map_or(f64::NAN, |time| time.as_secs_f64() * 1e6)
    }
}
