//! When a database that had work has little, so that what was kept in memory for the work can go.
//!
//! Pure.

/// How long little has to come.
const WINDOW_MS: u64 = 5_000;
/// What still is little: processes look for work once a second.
const FEW_JOBS: u64 = 15;

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
}
