//! How many threads of a pool were at work at once, so that the others can end although a little work goes round among
//! all of them.
//!
//! Pure.

/// Counts over one window after the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BusyThreads {
    began_ms: u64,
    most: usize,
    surplus: usize,
}

impl BusyThreads {
    /// Notes how many threads are at work now.
    pub fn note(&mut self, busy: usize) {
        self.most = self.most.max(busy);
    }

    /// Whether a thread that has finished its work should end: one of this many, in a window of this length, was never
    /// needed. One thread always is.
    pub fn is_surplus(&mut self, threads: usize, now_ms: u64, window_ms: u64) -> bool {
        if now_ms.saturating_sub(self.began_ms) >= window_ms {
            *self = Self { began_ms: now_ms, most: 0, surplus: threads.saturating_sub(self.most.max(1)) };
        }
        let ends = self.surplus > 0 && threads > 1;
        self.surplus -= usize::from(ends);
        ends
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_that_were_not_needed_at_once_end_however_often_each_had_work() {
        let mut busy = BusyThreads::default();
        busy.note(4);
        assert!(!busy.is_surplus(4, 1_000, 1_000), "all four were needed");
        // One job after the other, by any of the four.
        for now_ms in 1_000..2_000 {
            busy.note(1);
            assert!(!busy.is_surplus(4, now_ms, 1_000));
        }
        let ended = (2_000..2_010).fold(4, |left, now_ms| left - usize::from(busy.is_surplus(left, now_ms, 1_000)));
        assert_eq!(ended, 1, "the last one stays");
    }
}
