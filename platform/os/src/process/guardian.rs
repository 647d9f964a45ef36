//! A process between us and a child, so that nothing of the child's family outlives us.
//!
//! Between fork and exec the new process forks again: the inner one becomes the child, the outer one stays
//! as its guardian. The guardian adopts every descendant that loses its parent (a double fork, `setsid` and
//! `nohup` do not help against that), so when we die, or when the child has ended, it kills its children
//! until it has none. It runs in the copy of a process that had threads, so everything here makes plain
//! system calls, allocates nothing and takes no lock.

use std::ffi::CStr;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::RawFd;
use std::str::FromStr;

use rustix::fs::{CWD, Mode, OFlags, RawDir, openat};

use super::marker::{MarkedEnd, MarkedExit, MarkerLine, ParentThen};
use super::parents::GUARDIAN_NAME;
use super::spec::Leftovers;

/// Sent to the guardian when we die; that it came for this reason is checked, since anybody can send it.
const PARENT_DIED: libc::c_int = libc::SIGUSR1;
const ROUNDS: usize = 500;
const ROUND_PAUSE_NS: libc::c_long = 10_000_000;
const LISTING_BYTES: usize = 8 * 1024;
const STAT_BYTES: usize = 1024;
const MAX_DESCRIPTORS: libc::c_int = 65_536;
/// Fields of `/proc/<pid>/stat`, counted from behind the name.
const PARENT_FIELD: usize = 1;
const FLAGS_FIELD: usize = 6;
/// `PF_EXITING` and `PF_FORKNOEXEC` of the kernel.
const IS_EXITING: u32 = 0x4;
const HAS_NOT_EXECUTED: u32 = 0x40;

/// Returns in the process that is to become the child; the guardian never comes back.
///
/// Must be called between fork and exec, by a process that `parent` has just started. The end of the child
/// is written to the marker that is kept.
pub(super) fn stand_between(parent: libc::pid_t, leftovers: Leftovers, kept: KeptDescriptors) -> io::Result<()> {
    let mut all = MaybeUninit::<libc::sigset_t>::uninit();
    let mut before = MaybeUninit::<libc::sigset_t>::uninit();
    #[allow(unsafe_code, reason = "signals, prctl and fork have no safe wrapper")]
    // SAFETY: plain system calls on live, initialised memory, in a process with one thread.
    unsafe {
        libc::sigfillset(all.as_mut_ptr());
        libc::sigprocmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
        libc::signal(libc::SIGCHLD, libc::SIG_DFL);
        let asked = libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0
            && libc::prctl(libc::PR_SET_PDEATHSIG, PARENT_DIED) == 0;
        if !asked {
            return Err(io::Error::last_os_error());
        }
        // The parent may have died before the request was in place; then nobody would tell.
        if libc::getppid() != parent {
            return Err(io::Error::from_raw_os_error(libc::ECANCELED));
        }
        let guardian = libc::getpid();
        match libc::fork() {
            -1 => Err(io::Error::last_os_error()),
            0 => {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                libc::sigprocmask(libc::SIG_SETMASK, before.as_ptr(), std::ptr::null_mut());
                if libc::getppid() == guardian { Ok(()) } else { Err(io::Error::from_raw_os_error(libc::ECANCELED)) }
            }
            child => {
                let all = all.assume_init();
                let marker = let_go_of_everything_but(kept);
                let (status, was_asked, has_killed) = (None, false, false);
                Guardian { parent, child, all, leftovers, marker, status, was_asked, has_killed }.guard()
            }
        }
    }
}

/// What the guardian holds on to, all of it open.
#[derive(Clone, Copy)]
pub(super) struct KeptDescriptors {
    /// Where the child's end is written.
    pub(super) marker: Option<RawFd>,
    /// What keeps those of the family who are observed from being left without an observer.
    pub(super) inbox: Option<RawFd>,
}

struct Guardian {
    parent: libc::pid_t,
    child: libc::pid_t,
    all: libc::sigset_t,
    leftovers: Leftovers,
    /// Where the child's end is written.
    marker: Option<RawFd>,
    /// How the child ended, once it has.
    status: Option<libc::c_int>,
    /// Whether our parent told the family to end, which then has a grace that our parent measures.
    was_asked: bool,
    /// Whether we have begun to kill.
    has_killed: bool,
}

#[derive(PartialEq, Eq)]
enum FamilyState {
    Gone,
    Left,
}

impl Guardian {
    fn guard(mut self) -> ! {
        loop {
            self.wait();
            if self.is_orphan() {
                self.end_family();
                exit(0);
            }
            let family = self.reap();
            let status = match self.status {
                Some(status) => status,
                None if family == FamilyState::Gone => exit(libc::EXIT_FAILURE),
                None => continue,
            };
            if family == FamilyState::Left && self.leftovers == Leftovers::Kill {
                if self.was_asked {
                    continue;
                }
                self.end_family();
            }
            leave_like(status);
        }
    }

    /// Waits for the next signal.
    fn wait(&mut self) {
        let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
        #[allow(unsafe_code, reason = "waiting for signals has no safe wrapper")]
        // SAFETY: both pointers are live; all bytes zero is a valid structure, and a taken signal fills it in.
        unsafe {
            let signal = libc::sigwaitinfo(&raw const self.all, info.as_mut_ptr());
            self.was_asked |= signal == libc::SIGTERM && info.assume_init().si_pid() == self.parent;
        }
    }

    fn is_orphan(&self) -> bool {
        #[allow(unsafe_code, reason = "rustix cannot tell a parent outside our namespace from none")]
        // SAFETY: getppid has no arguments and cannot fail.
        unsafe {
            libc::getppid() != self.parent
        }
    }

    /// Collects all dead children.
    fn reap(&mut self) -> FamilyState {
        loop {
            let dead = match next_dead() {
                None => return FamilyState::Gone,
                Some(0) => return FamilyState::Left,
                Some(dead) => dead,
            };
            // What is known of a process goes when it is collected.
            let has_run = flags_of(dead).is_none_or(|flags| flags & HAS_NOT_EXECUTED == 0);
            let mut status = 0;
            #[allow(unsafe_code, reason = "a plain system call")]
            // SAFETY: the status is live memory.
            unsafe {
                libc::waitpid(dead, &raw mut status, libc::WNOHANG);
            }
            if dead == self.child {
                self.status = Some(status);
                if has_run {
                    self.mark(status);
                }
            }
        }
    }

    /// Writes how the child ended, if that was its own doing.
    fn mark(&self, status: libc::c_int) {
        let Some(marker) = self.marker else {
            return;
        };
        let parent = self.parent_now();
        let end = match parent {
            _ if libc::WIFEXITED(status) => MarkedEnd::Exited { code: libc::WEXITSTATUS(status) },
            ParentThen::Alive if !self.has_killed => MarkedEnd::Signalled { signal: libc::WTERMSIG(status) },
            // We may have sent it, or a pipe that closed has.
            ParentThen::Alive | ParentThen::Dying => return,
        };
        if let Ok(line) = MarkerLine::new(MarkedExit { end, parent }) {
            let bytes = line.bytes();
            #[allow(unsafe_code, reason = "a plain system call on a descriptor that only we use here")]
            // SAFETY: the bytes are live and their length is true.
            unsafe {
                libc::write(marker, bytes.as_ptr().cast(), bytes.len());
            }
        }
    }

    /// Looked at after the child has ended, so that "alive" is true of the child's whole life: a process is
    /// seen to be ending before the first of its pipes closes.
    fn parent_now(&self) -> ParentThen {
        let is_ending = flags_of(self.parent).is_some_and(|flags| flags & IS_EXITING != 0);
        if is_ending || self.is_orphan() { ParentThen::Dying } else { ParentThen::Alive }
    }

    /// Kills our children, who by that become childless, until there are none.
    fn end_family(&mut self) {
        let pause = libc::timespec { tv_sec: 0, tv_nsec: ROUND_PAUSE_NS };
        for _ in 0..ROUNDS {
            if self.reap() == FamilyState::Gone {
                return;
            }
            self.has_killed = true;
            kill_children();
            #[allow(unsafe_code, reason = "waiting for signals has no safe wrapper")]
            // SAFETY: the set and the time are live; no information is asked for.
            unsafe {
                libc::sigtimedwait(&raw const self.all, std::ptr::null_mut(), &raw const pause);
            }
        }
    }
}

/// The next process to collect, which stays to be collected: 0 if all are alive, `None` if there are none.
fn next_dead() -> Option<libc::pid_t> {
    let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
    #[allow(unsafe_code, reason = "a plain system call")]
    // SAFETY: the pointer is live; all bytes zero is a valid structure, and means that nobody is dead.
    unsafe {
        (libc::waitid(libc::P_ALL, 0, info.as_mut_ptr(), options) == 0).then(|| info.assume_init().si_pid())
    }
}

/// Keeps nothing else open or in use that belongs to the child or to us; gives the marker's new number.
fn let_go_of_everything_but(kept: KeptDescriptors) -> Option<RawFd> {
    const MARKER: RawFd = 0;
    const INBOX: RawFd = 1;
    const FIRST_OTHER: RawFd = 2;
    #[allow(unsafe_code, reason = "closes descriptors that other code owns, in a process where it never runs")]
    // SAFETY: nothing of the code that owns the descriptors runs in this process again.
    unsafe {
        // Both are above the numbers they get: those belong to the child's streams.
        let [marker, inbox] = [(kept.marker, MARKER), (kept.inbox, INBOX)].map(|(kept, number)| {
            let moved = kept.filter(|kept| libc::dup2(*kept, number) == number);
            if moved.is_none() {
                libc::close(number);
            }
            moved.map(|_| number)
        });
        let _stays_open = inbox;
        if libc::syscall(libc::SYS_close_range, FIRST_OTHER, libc::c_uint::MAX, 0) != 0 {
            (FIRST_OTHER..MAX_DESCRIPTORS).for_each(|descriptor| {
                libc::close(descriptor);
            });
        }
        libc::chdir(c"/".as_ptr());
        libc::prctl(libc::PR_SET_NAME, GUARDIAN_NAME.as_ptr());
        marker
    }
}

/// Ends as the child did, so that who waits for us learns how it ended.
fn leave_like(status: libc::c_int) -> ! {
    if libc::WIFSIGNALED(status) {
        let signal = libc::WTERMSIG(status);
        let no_core = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        #[allow(unsafe_code, reason = "signals have no safe wrapper")]
        // SAFETY: plain system calls on live, initialised memory.
        unsafe {
            let mut only = MaybeUninit::<libc::sigset_t>::uninit();
            libc::setrlimit(libc::RLIMIT_CORE, &raw const no_core);
            libc::sigemptyset(only.as_mut_ptr());
            libc::sigaddset(only.as_mut_ptr(), signal);
            libc::signal(signal, libc::SIG_DFL);
            libc::kill(libc::getpid(), signal);
            libc::sigprocmask(libc::SIG_UNBLOCK, only.as_ptr(), std::ptr::null_mut());
        }
        exit(128 + signal);
    }
    exit(libc::WEXITSTATUS(status))
}

fn exit(code: libc::c_int) -> ! {
    #[allow(unsafe_code, reason = "_exit has no wrapper in std or rustix")]
    // SAFETY: _exit does not return and runs nothing of the program.
    unsafe {
        libc::_exit(code)
    }
}

/// Only we collect our children, so an id found here cannot belong to another process by the time it is signalled.
fn kill_children() {
    #[allow(unsafe_code, reason = "rustix's getpid is the same call")]
    // SAFETY: getpid has no arguments and cannot fail.
    let ourselves = unsafe { libc::getpid() };
    let Ok(folder) = openat(CWD, c"/proc", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()) else {
        return;
    };
    let mut listing = [MaybeUninit::<u8>::uninit(); LISTING_BYTES];
    let mut entries = RawDir::new(&folder, &mut listing);
    while let Some(Ok(entry)) = entries.next() {
        let Some(pid) = number(entry.file_name().to_bytes()) else {
            continue;
        };
        if parent_of(pid) == Some(ourselves) {
            #[allow(unsafe_code, reason = "a plain system call")]
            // SAFETY: the process is our child.
            unsafe {
                libc::kill(pid, libc::SIGKILL);
            }
        }
    }
}

fn parent_of(pid: libc::pid_t) -> Option<libc::pid_t> {
    state_field(pid, PARENT_FIELD)
}

/// The kernel's own notes on a process, which a dead one keeps until it is collected.
fn flags_of(pid: libc::pid_t) -> Option<u32> {
    state_field(pid, FLAGS_FIELD)
}

fn state_field<N: FromStr>(pid: libc::pid_t, index: usize) -> Option<N> {
    let mut path = [0_u8; 32];
    let mut writer = io::Cursor::new(&mut path[..]);
    io::Write::write_fmt(&mut writer, format_args!("/proc/{pid}/stat")).ok()?;
    let path = CStr::from_bytes_until_nul(&path).ok()?;
    let file = openat(CWD, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let mut stat = [0_u8; STAT_BYTES];
    let length = rustix::io::read(&file, &mut stat).ok()?;
    // The name in parentheses may hold anything; behind it come the fields.
    let stat = stat.get(..length)?;
    let close = stat.iter().rposition(|byte| *byte == b')')?;
    let mut fields = stat.get(close + 1..)?.split(|byte| *byte == b' ').filter(|field| !field.is_empty());
    number(fields.nth(index)?)
}

fn number<N: FromStr>(digits: &[u8]) -> Option<N> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parent_of_a_process_is_read_without_its_name_in_the_way() {
        let ourselves = std::process::id().cast_signed();
        let mut child = std::process::Command::new("sleep").arg("300").spawn().unwrap();
        assert_eq!(parent_of(child.id().cast_signed()), Some(ourselves));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(parent_of(libc::pid_t::MAX), None);
    }

    #[test]
    fn a_dead_process_is_seen_to_have_run_until_it_is_collected() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let pid = child.id().cast_signed();
        while flags_of(pid).unwrap() & IS_EXITING == 0 {
            std::thread::yield_now();
        }
        assert_eq!(flags_of(pid).unwrap() & HAS_NOT_EXECUTED, 0);
        child.wait().unwrap();
        assert_eq!(flags_of(pid), None);
        let ourselves = flags_of(std::process::id().cast_signed()).unwrap();
        assert_eq!(ourselves & (IS_EXITING | HAS_NOT_EXECUTED), 0);
    }
}
