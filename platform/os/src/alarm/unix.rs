//! The alarm by interval timer and signal handler: works while every thread is stuck in native code.

use std::ffi::CString;
use std::io;
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;
#[cfg(target_os = "linux")]
use std::sync::atomic::AtomicPtr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::{ARMED, Claim, LastLine, PREPARED, claim, last_line, starved};

const STDOUT: libc::c_int = 1;
/// A timer this far away is as good as none.
const MAX_TIMEOUT_SECONDS: u64 = 100_000_000;
/// What a timer counts.
#[derive(Clone, Copy)]
enum Timer {
    Wall,
    Processor,
}
const FULL_PIPE_WAIT_MS: libc::c_int = 1_000;

/// Whether the budget counts what the process works, and not what it waits.
pub(super) const COUNTS_PROCESSOR_TIME: bool = true;

pub(super) fn start(timeout: Duration) -> io::Result<()> {
    start_timer(Timer::Wall, libc::SIGALRM, timeout)
}

/// Counts the processor time of the whole process.
pub(super) fn start_budget(timeout: Duration) -> io::Result<()> {
    start_timer(Timer::Processor, libc::SIGPROF, timeout)
}

/// The timer of the budget, once it was made: the interval timer counts in ticks, which is too coarse on a busy machine.
#[cfg(target_os = "linux")]
static BUDGET_TIMER: AtomicPtr<libc::c_void> = AtomicPtr::new(ptr::null_mut());

#[cfg(target_os = "linux")]
fn set_budget_timer(timeout: Duration) -> io::Result<()> {
    #[allow(unsafe_code, reason = "timers have no wrapper in std or rustix")]
    // SAFETY: the event and the values are live and initialised; the timer is made once and never deleted.
    let result = unsafe {
        let mut timer: libc::timer_t = BUDGET_TIMER.load(Ordering::Acquire);
        if timer.is_null() {
            let mut event = MaybeUninit::<libc::sigevent>::zeroed().assume_init();
            event.sigev_notify = libc::SIGEV_SIGNAL;
            event.sigev_signo = libc::SIGPROF;
            succeeded(libc::timer_create(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut event, &raw mut timer))?;
            // The first timer of a process may have the number zero, which is no pointer to remember.
            BUDGET_TIMER.store(timer.wrapping_byte_add(1), Ordering::Release);
        } else {
            timer = timer.wrapping_byte_sub(1);
        }
        let mut value = MaybeUninit::<libc::itimerspec>::zeroed().assume_init();
        value.it_value.tv_sec = timeout.as_secs().min(MAX_TIMEOUT_SECONDS) as _;
        value.it_value.tv_nsec = timeout.subsec_nanos() as _;
        libc::timer_settime(timer, 0, &raw const value, ptr::null_mut())
    };
    succeeded(result)
}

pub(super) fn stop() {
    // Stopping can only fail for invalid arguments; a late signal is ignored, because ARMED is off.
    let _ = set_timer(Timer::Wall, Duration::ZERO);
    #[cfg(target_os = "linux")]
    if BUDGET_TIMER.load(Ordering::Acquire).is_null() {
        return;
    }
    let _ = set_timer(Timer::Processor, Duration::ZERO);
}

fn start_timer(timer: Timer, signal: libc::c_int, timeout: Duration) -> io::Result<()> {
    let handled = match timer {
        Timer::Wall => &WALL_HANDLED,
        Timer::Processor => &PROCESSOR_HANDLED,
    };
    // The handler stays for the life of the process, so a timer that is set again finds it in place.
    if !handled.load(Ordering::Acquire) {
        install_handler(signal)?;
        unblock_signal(signal)?;
        handled.store(true, Ordering::Release);
    }
    set_timer(timer, timeout)
}

static WALL_HANDLED: AtomicBool = AtomicBool::new(false);
static PROCESSOR_HANDLED: AtomicBool = AtomicBool::new(false);

/// A file by the name that system calls take.
pub(super) struct SignalSafeLogPath(CString);

impl SignalSafeLogPath {
    pub(super) fn new(path: &Path) -> Option<Self> {
        CString::new(path.as_os_str().as_bytes()).ok().map(Self)
    }
}

/// Async-signal-safe: atomics and plain system calls only; no allocation, no lock.
extern "C" fn on_alarm(signal: libc::c_int) {
    if !ARMED.load(Ordering::Acquire) || claim() == Claim::Lost {
        return;
    }
    let prepared = PREPARED.load(Ordering::Acquire);
    #[allow(unsafe_code, reason = "reads the leaked answer inside a signal handler")]
    // SAFETY: a non-null PREPARED comes from Box::leak and is never freed or changed.
    let Some(prepared) = (unsafe { prepared.as_ref() }) else {
        return;
    };
    let starved = if signal == libc::SIGALRM { starved() } else { None };
    let (prepared, line) = starved.unwrap_or_else(|| (prepared, last_line()));
    write_all_to_stdout(&prepared.bytes);
    if let Some(line) = line {
        append(line);
    }
    #[allow(unsafe_code, reason = "_exit has no wrapper in std or rustix")]
    // SAFETY: _exit is async-signal-safe and does not return.
    unsafe {
        libc::_exit(prepared.exit_code)
    }
}

/// Adds the line in one write, unless something other than a file stands in its place. Async-signal-safe.
fn append(line: &LastLine) {
    const FLAGS: libc::c_int =
        libc::O_RDWR | libc::O_APPEND | libc::O_CREAT | libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_CLOEXEC;
    const MODE: libc::c_uint = 0o666;
    #[allow(unsafe_code, reason = "a handler needs the plain system calls")]
    // SAFETY: the path is a live C string, the structs and slices are live and their lengths true; the
    // descriptor is ours, and closing it is left to the end of the process.
    unsafe {
        let file = libc::open(line.place.0.as_ptr(), FLAGS, MODE);
        let mut found = MaybeUninit::<libc::stat>::zeroed().assume_init();
        if file < 0 || libc::fstat(file, &raw mut found) != 0 || found.st_mode & libc::S_IFMT != libc::S_IFREG {
            return;
        }
        let mut last = [b'\n'];
        if found.st_size > 0 {
            libc::pread(file, last.as_mut_ptr().cast(), 1, found.st_size - 1);
        }
        let torn = last != *b"\n";
        let bytes = if torn { &line.bytes } else { line.bytes.get(1..).unwrap_or_default() };
        libc::write(file, bytes.as_ptr().cast(), bytes.len());
    }
}

/// Writes past Rust's buffer; gives up if the reader is gone. Async-signal-safe.
pub(crate) fn write_all_to_stdout(mut bytes: &[u8]) {
    while !bytes.is_empty() {
        #[allow(unsafe_code, reason = "std's stdout takes a lock, which a handler may not")]
        // SAFETY: the pointer and the length describe a live slice.
        let written = unsafe { libc::write(STDOUT, bytes.as_ptr().cast(), bytes.len()) };
        match usize::try_from(written) {
            Ok(0) => return,
            Ok(count) => bytes = bytes.get(count..).unwrap_or_default(),
            Err(_) => match io::Error::last_os_error().kind() {
                io::ErrorKind::Interrupted => {}
                io::ErrorKind::WouldBlock if wait_until_writable() => {}
                _ => return,
            },
        }
    }
}

fn wait_until_writable() -> bool {
    let mut poll = libc::pollfd { fd: STDOUT, events: libc::POLLOUT, revents: 0 };
    #[allow(unsafe_code, reason = "a handler needs the plain system call")]
    // SAFETY: one live pollfd is passed, and its count is one.
    let ready = unsafe { libc::poll(&raw mut poll, 1, FULL_PIPE_WAIT_MS) };
    ready > 0
}

fn install_handler(signal: libc::c_int) -> io::Result<()> {
    #[allow(unsafe_code, reason = "signal handlers have no wrapper in std or rustix")]
    // SAFETY: the action is fully initialised, and the handler is async-signal-safe. SA_ONSTACK
    // uses the alternate stack that std sets up, so that a nearly full stack does not matter.
    let result = unsafe {
        let mut action = MaybeUninit::<libc::sigaction>::zeroed().assume_init();
        action.sa_sigaction = on_alarm as extern "C" fn(libc::c_int) as libc::sighandler_t;
        action.sa_flags = libc::SA_RESTART | libc::SA_ONSTACK;
        libc::sigemptyset(&raw mut action.sa_mask);
        libc::sigaction(signal, &raw const action, ptr::null_mut())
    };
    succeeded(result)
}

/// A signal mask survives `exec`, so the parent may have left the alarm blocked.
fn unblock_signal(signal: libc::c_int) -> io::Result<()> {
    #[allow(unsafe_code, reason = "signal masks have no wrapper in std or rustix")]
    // SAFETY: the set is initialised by sigemptyset before it is read.
    let result = unsafe {
        let mut set = MaybeUninit::<libc::sigset_t>::zeroed().assume_init();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, signal);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const set, ptr::null_mut())
    };
    match result {
        0 => Ok(()),
        code => Err(io::Error::from_raw_os_error(code)),
    }
}

fn set_timer(timer: Timer, timeout: Duration) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    if matches!(timer, Timer::Processor) {
        return set_budget_timer(timeout);
    }
    let value = libc::itimerval {
        it_interval: libc::timeval { tv_sec: 0, tv_usec: 0 },
        it_value: libc::timeval {
            // Their types differ between systems, and the values fit into the narrowest.
            tv_sec: timeout.as_secs().min(MAX_TIMEOUT_SECONDS) as _,
            tv_usec: timeout.subsec_micros() as _,
        },
    };
    #[allow(unsafe_code, reason = "interval timers have no wrapper in std or rustix")]
    // SAFETY: the new value is a live struct; the old one is not asked for.
    let result = unsafe {
        match timer {
            Timer::Wall => libc::setitimer(libc::ITIMER_REAL, &raw const value, ptr::null_mut()),
            Timer::Processor => libc::setitimer(libc::ITIMER_PROF, &raw const value, ptr::null_mut()),
        }
    };
    succeeded(result)
}

fn succeeded(result: libc::c_int) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
