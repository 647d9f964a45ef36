//! A last resort for the hot path: when time is up, a prepared answer is written and the process ends.
//!
//! Native code that never returns cannot be stopped from within, so the answer is prepared before
//! the work starts and delivered by a signal handler (Unix) or a watchdog thread (elsewhere). There
//! is one alarm per process, because there is one stdout and one interval timer.
//!
//! Exactly one side answers: both the alarm and the normal path go through [`claim`], and only the
//! winner writes. The normal path claims before its first byte, or calls [`answer`], which does both.

#[cfg(not(unix))]
mod thread;
#[cfg(unix)]
mod unix;

use std::path::Path;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use std::time::Duration;

use crate::{OsError, exit};

#[cfg(not(unix))]
use thread::{self as system, WatchdogLogPath as LogPath};
#[cfg(unix)]
pub(crate) use unix::write_all_to_stdout;
#[cfg(unix)]
use unix::{self as system, SignalSafeLogPath as LogPath};

static ARMED: AtomicBool = AtomicBool::new(false);
static CLAIMED: AtomicBool = AtomicBool::new(false);
static PREPARED: AtomicPtr<PreparedAnswer> = AtomicPtr::new(ptr::null_mut());
static LAST_LINE: AtomicPtr<LastLine> = AtomicPtr::new(ptr::null_mut());
static STARVED: AtomicPtr<PreparedAnswer> = AtomicPtr::new(ptr::null_mut());
static STARVED_LINE: AtomicPtr<LastLine> = AtomicPtr::new(ptr::null_mut());

struct PreparedAnswer {
    bytes: Box<[u8]>,
    exit_code: i32,
}

/// A line for a log, and where the log is.
struct LastLine {
    place: LogPath,
    /// The line between two line feeds; the first one is for a log that ends in the middle of a line.
    bytes: Box<[u8]>,
}

/// Who answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "only the side that won may write"]
pub enum Claim {
    /// The caller answers; the alarm will not.
    Won,
    /// The answer is being given by the other side; the caller must not write.
    Lost,
}

/// Starts the timer: after `timeout` the alarm writes `bytes` to stdout and ends the process with `exit_code`.
///
/// On Unix this uses `ITIMER_REAL` and the handler of `SIGALRM`, which nothing else in the process
/// may use. A timeout of zero becomes one millisecond.
pub fn arm(timeout: Duration, bytes: &[u8], exit_code: i32) -> Result<(), OsError> {
    if ARMED.swap(true, Ordering::AcqRel) {
        return Err(OsError::AlarmArmed);
    }
    prepare(bytes, exit_code);
    system::start(timeout.max(Duration::from_millis(1))).map_err(|source| {
        ARMED.store(false, Ordering::Release);
        OsError::AlarmRefused { source }
    })
}

/// The same with a budget of processor time, which a machine that stands still does not use up; `wall` is the limit
/// for waits. Where the system cannot count processor time, `processor` is a limit of wall time too.
pub fn arm_budget(processor: Duration, wall: Duration, bytes: &[u8], exit_code: i32) -> Result<(), OsError> {
    let shortest = Duration::from_millis(1);
    arm(if system::COUNTS_PROCESSOR_TIME { wall } else { wall.min(processor) }, bytes, exit_code)?;
    system::start_budget(processor.max(shortest)).map_err(|source| OsError::AlarmRefused { source })
}

/// Exchanges the prepared answer in one step; the alarm writes the old or the new one, never a mixture.
///
/// The old answer is not freed, because the alarm may be reading it: call this a few times per
/// process, not in a loop.
pub fn prepare(bytes: &[u8], exit_code: i32) {
    let prepared = Box::new(PreparedAnswer { bytes: bytes.into(), exit_code });
    PREPARED.store(Box::leak(prepared), Ordering::Release);
}

/// The answer where the wall clock of [`arm_budget`] runs out before the processor time: the machine stood still, or
/// something was waited for.
pub fn prepare_starved(bytes: &[u8], exit_code: i32) {
    let prepared = Box::new(PreparedAnswer { bytes: bytes.into(), exit_code });
    STARVED.store(Box::leak(prepared), Ordering::Release);
}

/// The line that goes with [`prepare_starved`], in place of that of [`leave_line`].
pub fn leave_starved_line(file: &Path, line: &[u8]) {
    if let Some(line) = LastLine::new(file, line) {
        STARVED_LINE.store(Box::leak(Box::new(line)), Ordering::Release);
    }
}

/// A wall clock that runs out leads to the prepared answer again.
pub fn forget_starved() {
    STARVED.store(ptr::null_mut(), Ordering::Release);
    STARVED_LINE.store(ptr::null_mut(), Ordering::Release);
}

/// From now on the alarm adds this line to the end of `file` once it has answered, in one write.
///
/// The file is opened only then, so that preparing costs no system call. The same holds as for
/// [`prepare`]: the line before it is not freed. A path that the system cannot name leaves no line.
pub fn leave_line(file: &Path, line: &[u8]) {
    if let Some(line) = LastLine::new(file, line) {
        LAST_LINE.store(Box::leak(Box::new(line)), Ordering::Release);
    }
}

impl LastLine {
    fn new(file: &Path, line: &[u8]) -> Option<Self> {
        Some(Self { place: LogPath::new(file)?, bytes: [b"\n", line, b"\n"].concat().into() })
    }
}

/// The alarm adds no line any more.
pub fn leave_nothing() {
    LAST_LINE.store(ptr::null_mut(), Ordering::Release);
}

/// What the alarm adds to a log, if anything.
fn last_line() -> Option<&'static LastLine> {
    #[allow(unsafe_code, reason = "reads the leaked line")]
    // SAFETY: a non-null LAST_LINE comes from Box::leak and is never freed or changed.
    unsafe {
        LAST_LINE.load(Ordering::Acquire).as_ref()
    }
}

/// What the alarm answers where the process had no time to work, and the line for the log, as far as they are prepared.
fn starved() -> Option<(&'static PreparedAnswer, Option<&'static LastLine>)> {
    #[allow(unsafe_code, reason = "reads the leaked answer and its line")]
    // SAFETY: what is not null comes from Box::leak and is never freed or changed.
    unsafe {
        let answer = STARVED.load(Ordering::Acquire).as_ref()?;
        Some((answer, STARVED_LINE.load(Ordering::Acquire).as_ref()))
    }
}

/// Stops the timer. The alarm does not fire after this returns, unless it has already claimed.
pub fn disarm() {
    if ARMED.swap(false, Ordering::AcqRel) {
        system::stop();
    }
}

/// Decides who answers; the first caller in the life of the process wins.
pub fn claim() -> Claim {
    match CLAIMED.compare_exchange(false, true, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => Claim::Won,
        Err(_) => Claim::Lost,
    }
}

/// Answers by the normal path and ends the process; if the other side was first, waits for it to end the process.
pub fn answer(bytes: &[u8], exit_code: i32) -> ! {
    match claim() {
        Claim::Won => {
            disarm();
            exit::answer(bytes, exit_code)
        }
        Claim::Lost => loop {
            std::thread::park();
        },
    }
}
