//! Locks on open files, waited for in short steps and never without end.

use std::io;
use std::path::Path;
use std::time::Duration;

use dispatch_os::files::{File, TryLockError, WriteAt, open_own};
use dispatch_os::{threads, time};

/// How long to wait for a lock that is only ever held for microseconds.
pub(super) const BRIEF: Duration = Duration::from_millis(50);
const FIRST_PAUSE: Duration = Duration::from_micros(50);
const LONGEST_PAUSE: Duration = Duration::from_millis(2);

/// A lock between processes. Dropping it gives it back, and so does the death of the process.
#[derive(Debug)]
pub(crate) struct HeldLock {
    // Closing the file is what gives the lock back.
    _file: File,
}

impl HeldLock {
    /// Takes the lock of this file, waiting at most `wait`; nothing if it cannot be had.
    #[must_use]
    pub(crate) fn acquire(path: &Path, wait: Duration) -> Option<Self> {
        let file = open_own(path, WriteAt::Position).ok()?;
        lock_within(&file, wait).ok()?;
        Some(Self { _file: file })
    }
}

/// Takes the lock of an open file; closing the file gives it back.
pub(super) fn lock_within(file: &File, wait: Duration) -> io::Result<()> {
    let started = time::now();
    let mut pause = FIRST_PAUSE;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) if time::since(started) < wait => {
                threads::sleep(pause);
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
            Err(TryLockError::WouldBlock) => return Err(io::ErrorKind::WouldBlock.into()),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
}
