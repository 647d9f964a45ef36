//! Wall time, monotonic time and deadlines, in milliseconds and in UTC.

mod rfc3339;

use std::sync::OnceLock;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

pub use rfc3339::{parse_rfc3339, rfc3339};
// Values of a clock; only the functions below read one.
pub use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// The present by the monotonic clock, for code that hands an [`Instant`] on.
///
/// To wait for something take a [`Deadline`]; to measure, [`since`] or [`monotonic_ms`].
#[inline]
#[must_use]
pub fn now() -> Instant {
    Instant::now()
}

/// The time since an instant, by the monotonic clock.
#[inline]
#[must_use]
pub fn since(start: Instant) -> Duration {
    start.elapsed()
}

/// Processor time that this thread used so far: what a machine that stands still does not add to.
///
/// Where the system does not tell, time passes as on the monotonic clock.
#[must_use]
pub fn thread_processor_time() -> Duration {
    #[cfg(unix)]
    {
        let mut spent = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        #[allow(unsafe_code, reason = "rustix would first look for a function in the kernel's shared object")]
        // SAFETY: a live struct is passed. The clock always exists; if not, no time was spent.
        unsafe {
            libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut spent);
        }
        let seconds = u64::try_from(spent.tv_sec).unwrap_or_default();
        Duration::new(seconds, u32::try_from(spent.tv_nsec).unwrap_or_default())
    }
    #[cfg(not(unix))]
    {
        Duration::from_millis(monotonic_ms())
    }
}

/// Processor time that this process used so far, with all its threads. As [`thread_processor_time`] where the system does
/// not tell.
#[must_use]
pub fn process_processor_time() -> Duration {
    #[cfg(unix)]
    {
        let spent = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        let seconds = u64::try_from(spent.tv_sec).unwrap_or_default();
        Duration::new(seconds, u32::try_from(spent.tv_nsec).unwrap_or_default())
    }
    #[cfg(not(unix))]
    {
        Duration::from_millis(monotonic_ms())
    }
}

/// The present by the wall clock, to compare with the times of files; [`unix_ms`] for everything else.
#[inline]
#[must_use]
pub fn wall_now() -> SystemTime {
    SystemTime::now()
}

/// Milliseconds since 1970-01-01T00:00:00Z by the wall clock.
///
/// The wall clock may jump either way (an administrator, NTP, a resumed machine). Use it for what
/// people read, [`monotonic_ms`] or [`Deadline`] for durations, [`MonotonicWall`] for order.
pub fn unix_ms() -> i64 {
    match SystemTime::now().duration_since(UNIX_EPOCH) {
        Ok(after) => saturating_ms(after),
        Err(before) => -saturating_ms(before.duration()),
    }
}

/// The present wall time as RFC 3339 text.
pub fn now_rfc3339() -> String {
    rfc3339(unix_ms())
}

/// Milliseconds since the first call in this process; never goes back.
pub fn monotonic_ms() -> u64 {
    static ORIGIN: OnceLock<Instant> = OnceLock::new();
    let elapsed = ORIGIN.get_or_init(Instant::now).elapsed();
    u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX)
}

fn saturating_ms(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// Wall time that never goes back within this process.
///
/// When the wall clock jumps back, the last time told is repeated until the clock has caught up;
/// a jump forward is followed at once.
#[derive(Debug)]
pub struct MonotonicWall {
    latest_ms: AtomicI64,
}

impl MonotonicWall {
    /// A clock that has told no time yet.
    pub const fn new() -> Self {
        Self { latest_ms: AtomicI64::new(i64::MIN) }
    }

    /// The present wall time, or the latest one told if that is later.
    pub fn now_ms(&self) -> i64 {
        self.advance_to(unix_ms())
    }

    fn advance_to(&self, wall_ms: i64) -> i64 {
        self.latest_ms.fetch_max(wall_ms, Ordering::Relaxed).max(wall_ms)
    }
}

impl Default for MonotonicWall {
    fn default() -> Self {
        Self::new()
    }
}

/// A point in monotonic time by which something must be done; jumps of the wall clock do not move it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadline {
    at: Option<Instant>,
}

impl Deadline {
    /// A deadline that is never reached.
    pub const NEVER: Self = Self { at: None };

    /// The deadline this far from now; one too far to be represented is never reached.
    pub fn after(duration: Duration) -> Self {
        Self { at: Instant::now().checked_add(duration) }
    }

    /// The deadline this many milliseconds from now.
    pub fn after_ms(timeout_ms: u64) -> Self {
        Self::after(Duration::from_millis(timeout_ms))
    }

    /// The deadline at this instant.
    pub const fn at(instant: Instant) -> Self {
        Self { at: Some(instant) }
    }

    /// The instant of the deadline; `None` if it is never reached.
    pub const fn instant(self) -> Option<Instant> {
        self.at
    }

    /// Time left: zero once expired, `Duration::MAX` if never reached.
    pub fn remaining(self) -> Duration {
        self.at.map_or(Duration::MAX, |at| at.saturating_duration_since(Instant::now()))
    }

    /// Whole milliseconds left, rounded up so that waiting them out reaches the deadline.
    pub fn remaining_ms(self) -> u64 {
        u64::try_from(self.remaining().as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX)
    }

    /// Whether the deadline has passed.
    pub fn expired(self) -> bool {
        self.at.is_some_and(|at| Instant::now() >= at)
    }

    /// The earlier of two deadlines.
    pub fn sooner(self, other: Self) -> Self {
        match (self.at, other.at) {
            (Some(left), Some(right)) => Self::at(left.min(right)),
            (at, None) | (None, at) => Self { at },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wall_time_is_written_with_milliseconds_in_utc() {
        let cases = [
            (0, "1970-01-01T00:00:00.000Z"),
            (1, "1970-01-01T00:00:00.001Z"),
            (-1, "1969-12-31T23:59:59.999Z"),
            (1_767_323_045_678, "2026-01-02T03:04:05.678Z"),
            (951_827_696_000, "2000-02-29T12:34:56.000Z"),
        ];
        for (ms, text) in cases {
            assert_eq!(rfc3339(ms), text);
            assert_eq!(parse_rfc3339(text), Some(ms), "{text}");
        }
    }

    #[test]
    fn times_out_of_range_are_clamped_and_still_written() {
        assert!(rfc3339(i64::MAX).starts_with("9999-12-30T"));
        assert!(rfc3339(i64::MIN).starts_with("-009999-01-02T"));
    }

    #[test]
    fn parsing_reads_offsets_cuts_fine_digits_and_refuses_the_rest() {
        assert_eq!(parse_rfc3339("1970-01-01T01:00:00+01:00"), Some(0));
        assert_eq!(parse_rfc3339("1970-01-01T00:00:00.0019Z"), Some(1));
        assert_eq!(parse_rfc3339("1969-12-31T23:59:59.9999Z"), Some(-1));
        for bad in ["", "now", "2026-01-02", "2026-13-01T00:00:00Z"] {
            assert_eq!(parse_rfc3339(bad), None, "{bad}");
        }
    }

    #[test]
    fn the_monotonic_wall_repeats_itself_while_the_clock_is_behind() {
        let wall = MonotonicWall::new();
        let told: Vec<i64> = [100, 90, 99, 101, 50].map(|ms| wall.advance_to(ms)).to_vec();
        assert_eq!(told, [100, 100, 100, 101, 101]);
        assert!(wall.now_ms() >= 101);
    }

    #[test]
    fn a_deadline_knows_what_is_left() {
        assert!(Deadline::after_ms(0).expired());
        assert_eq!(Deadline::after_ms(0).remaining_ms(), 0);
        let far = Deadline::after_ms(60_000);
        assert!(!far.expired());
        assert!(far.remaining_ms() <= 60_000 && far.remaining_ms() > 1_000);
        assert!(!Deadline::NEVER.expired());
        assert_eq!(Deadline::NEVER.remaining(), Duration::MAX);
        assert_eq!(Deadline::after(Duration::MAX), Deadline::NEVER);
        assert_eq!(far.sooner(Deadline::NEVER), far);
        assert_eq!(Deadline::NEVER.sooner(far), far);
    }
}
