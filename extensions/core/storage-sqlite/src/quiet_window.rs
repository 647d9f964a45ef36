//! When a database that had work has little, so that what was kept in memory for the work can go.
//!
//! Pure.

use std::time::Duration;

/// How long little has to come.
const WINDOW_MS: u64 = 5_000;
/// What still is little: the features of an idle server look for work once a second each, which is about twenty jobs for the
/// writer and thirty for a reader in a window.
const FEW_JOBS: u64 = 60;

/// Counts jobs over one window after the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct QuietWindow {
    began_ms: u64,
    jobs: u64,
    worked: bool,
}

impl QuietWindow {
    /// Notes jobs that were done; says whether the first quiet window after work is over.
    pub(crate) fn begins_rest(&mut self, jobs: u64, now_ms: u64) -> bool {
        self.jobs += jobs;
        if now_ms.saturating_sub(self.began_ms) < WINDOW_MS {
            return false;
        }
        let is_quiet = self.jobs <= FEW_JOBS;
        let rests = is_quiet && self.worked;
        *self = Self { began_ms: now_ms, jobs: 0, worked: !is_quiet };
        rests
    }

    /// How long to wait for the next job at the most; for ever where nothing is left to be given back.
    pub(crate) fn left(&self) -> Option<Duration> {
        (self.worked || self.jobs > 0).then_some(Duration::from_millis(WINDOW_MS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rest_begins_once_after_work() {
        let mut window = QuietWindow::default();
        let second = |window: &mut QuietWindow, jobs, seconds: core::ops::Range<u64>| {
            seconds.filter(|second| window.begins_rest(jobs, second * 1_000)).count()
        };
        assert_eq!(second(&mut window, 1, 0..30), 0, "there was no work");
        assert_eq!(second(&mut window, 400, 30..60), 0, "there is work");
        assert_eq!(second(&mut window, 1, 60..120), 1);
        assert_eq!(second(&mut window, 400, 120..130) + second(&mut window, 1, 130..160), 1, "and again");
    }

    #[test]
    fn a_process_that_asks_for_nothing_any_more_comes_to_rest_too() {
        let mut window = QuietWindow::default();
        assert_eq!(window.left(), None);
        assert!(!window.begins_rest(400, 1_000));
        let looks: Vec<bool> = (1..9).map(|look| window.begins_rest(0, 1_000 + look * WINDOW_MS)).collect();
        assert_eq!(looks.iter().filter(|rests| **rests).count(), 1, "{looks:?}");
        assert_eq!(window.left(), None, "then nothing is waited for");
    }
}
