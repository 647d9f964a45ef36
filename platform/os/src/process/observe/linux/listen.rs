//! Our side: looks at every call it is told of, notes its paths, and lets it go on.

use std::collections::BTreeSet;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use libc::{seccomp_notif, seccomp_notif_resp};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

use super::calls::{self, CallEffect, OpenFlags, PathArguments, WatchedCall};
use super::descriptor_passing;
use super::foreign::{CallerProcess, CallerText, LastLink, is_no_file};
use crate::process::observe::{MAX_OBSERVED_PATHS, ObservedWrites, OnWrite};

/// `SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP`: the caller and we take turns on one processor.
const TAKE_TURNS: u64 = 1;

/// What has been seen so far.
#[derive(Default)]
pub(super) struct WriteLog {
    is_listening: bool,
    paths: BTreeSet<PathBuf>,
    has_more: bool,
    was_shut_out: bool,
}

impl WriteLog {
    /// `None` if there was nothing to listen to, or we were not allowed to look at any of it.
    pub(super) fn take(&mut self) -> Option<ObservedWrites> {
        let is_blind = self.was_shut_out && self.paths.is_empty();
        let paths = std::mem::take(&mut self.paths).into_iter().collect();
        (self.is_listening && !is_blind).then_some(ObservedWrites { paths, has_more: self.has_more })
    }

    /// Whether the path is new.
    fn note(&mut self, path: PathBuf) -> bool {
        if self.paths.len() < MAX_OBSERVED_PATHS {
            return self.paths.insert(path);
        }
        self.has_more |= !self.paths.contains(&path);
        false
    }
}

pub(super) fn lock(write_log: &Mutex<WriteLog>) -> MutexGuard<'_, WriteLog> {
    write_log.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes the listener from the child, and listens until no process is left under the filter.
pub(super) fn listen(inbox: &UnixStream, write_log: &Mutex<WriteLog>, on_write: Option<&OnWrite>) {
    let Some(listener) = descriptor_passing::receive(inbox) else {
        return;
    };
    lock(write_log).is_listening = true;
    let listener = Listener(listener);
    listener.take_turns();
    while let Some(heard) = listener.next() {
        if let Some(told) = heard {
            look(&listener, &told, write_log, on_write);
            listener.let_go_on(told.id);
        }
    }
}

fn look(listener: &Listener, told: &seccomp_notif, write_log: &Mutex<WriteLog>, on_write: Option<&OnWrite>) {
    let Some(call) = calls::find(told.data.nr) else {
        return;
    };
    let paths = paths_of(told, call);
    // Only now is it sure that it was this caller, and no later process of the same number, who was looked at.
    if !listener.is_waiting(told.id) {
        return;
    }
    let Some(paths) = paths else {
        let mut write_log = lock(write_log);
        write_log.has_more = true;
        write_log.was_shut_out |= call.effect != CallEffect::Hide;
        return;
    };
    for path in paths.into_iter().filter(|path| !is_no_file(path)) {
        let is_new = lock(write_log).note(path.clone());
        if let Some(on_write) = on_write.filter(|_| is_new) {
            // A panic must not leave the caller without an answer.
            let _ = catch_unwind(AssertUnwindSafe(|| on_write(&path)));
        }
    }
}

/// `None` if they could not be read.
fn paths_of(told: &seccomp_notif, call: &WatchedCall) -> Option<Vec<PathBuf>> {
    let caller = CallerProcess { pid: told.pid };
    let last = match call.effect {
        CallEffect::Hide => return None,
        CallEffect::Change => LastLink::Named,
        CallEffect::Open(flags) => {
            let flags = match flags {
                OpenFlags::None => None,
                OpenFlags::Argument(argument) => Some(argument_of(told, argument)),
                OpenFlags::Memory(argument) => Some(caller.number(argument_of(told, argument))?),
            };
            if flags.is_some_and(|flags| !calls::writes(flags)) {
                return Some(Vec::new());
            }
            LastLink::Followed
        }
    };
    let mut paths = Vec::new();
    for PathArguments { folder, path } in call.path_arguments {
        // A descriptor has half the width of a register.
        let folder = folder.map(|folder| argument_of(told, folder) as i32);
        match caller.text(argument_of(told, *path)) {
            CallerText::Closed => return None,
            CallerText::NoPath => {}
            CallerText::Path(path) => paths.extend(caller.resolve(folder, &path, last)),
        }
    }
    Some(paths)
}

fn argument_of(told: &seccomp_notif, index: u8) -> u64 {
    told.data.args.get(usize::from(index)).copied().unwrap_or_default()
}

struct Listener(OwnedFd);

impl Listener {
    /// Waits for the next call; the inner `None` is one whose caller is gone again, the outer one the end.
    fn next(&self) -> Option<Option<seccomp_notif>> {
        let mut polled = [PollFd::from_borrowed_fd(self.0.as_fd(), PollFlags::IN)];
        match poll(&mut polled, None) {
            Err(Errno::INTR) => return Some(None),
            Err(_) => return None,
            Ok(_) if polled.iter().any(|polled| polled.revents().contains(PollFlags::IN)) => {}
            Ok(_) => return None,
        }
        #[allow(unsafe_code, reason = "all bytes zero is what the kernel asks for")]
        // SAFETY: the structure holds numbers only.
        let mut told = unsafe { MaybeUninit::<seccomp_notif>::zeroed().assume_init() };
        match self.control(libc::SECCOMP_IOCTL_NOTIF_RECV, &raw mut told) {
            Ok(()) => Some(Some(told)),
            Err(error) if matches!(error.raw_os_error(), Some(libc::ENOENT | libc::EINTR)) => Some(None),
            Err(_) => None,
        }
    }

    fn is_waiting(&self, id: u64) -> bool {
        let mut id = id;
        self.control(libc::SECCOMP_IOCTL_NOTIF_ID_VALID, &raw mut id).is_ok()
    }

    fn let_go_on(&self, id: u64) {
        let flags = libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32;
        let mut answer = seccomp_notif_resp { id, val: 0, error: 0, flags };
        // Whoever effect not wait any more needs no answer.
        let _ = self.control(libc::SECCOMP_IOCTL_NOTIF_SEND, &raw mut answer);
    }

    /// Faster where the kernel can, and the same where it cannot.
    fn take_turns(&self) {
        #[allow(unsafe_code, reason = "seccomp has no wrapper")]
        // SAFETY: the flags are passed by value.
        unsafe {
            libc::ioctl(self.0.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SET_FLAGS, TAKE_TURNS);
        }
    }

    fn control<T>(&self, request: libc::Ioctl, argument: *mut T) -> io::Result<()> {
        #[allow(unsafe_code, reason = "seccomp has no wrapper")]
        // SAFETY: every caller passes live memory of the type that the request names.
        let result = unsafe { libc::ioctl(self.0.as_raw_fd(), request, argument) };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ledger_is_bounded_and_says_so() {
        let mut write_log = WriteLog { is_listening: true, ..WriteLog::default() };
        for number in 0..MAX_OBSERVED_PATHS {
            assert!(write_log.note(PathBuf::from(format!("/{number}"))));
        }
        assert!(!write_log.note(PathBuf::from("/0")) && !write_log.has_more);
        assert!(!write_log.note(PathBuf::from("/more")) && write_log.has_more);
        let seen = write_log.take().unwrap();
        assert_eq!((seen.paths.len(), seen.has_more), (MAX_OBSERVED_PATHS, true));
    }

    #[test]
    fn a_ledger_of_one_who_was_shut_out_is_none() {
        assert!(WriteLog::default().take().is_none());
        let listening = || WriteLog { is_listening: true, ..WriteLog::default() };
        assert!(listening().take().is_some());
        let mut blind = WriteLog { was_shut_out: true, has_more: true, ..listening() };
        assert!(blind.take().is_none());
        let mut partly = WriteLog { was_shut_out: true, has_more: true, ..listening() };
        partly.note(PathBuf::from("/seen"));
        assert!(partly.take().unwrap().has_more);
    }
}
