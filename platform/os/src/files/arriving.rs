//! Reads what another process is still writing, without waiting for ever.

use std::io;
use std::time::Duration;

use crate::OsError;
use crate::time;

/// Room at the start; most hook payloads fit.
const FIRST_BYTES: usize = 4 * 1024;
/// Room that is made whenever there is none left; a pipe gives no more at once.
const MORE_BYTES: usize = 64 * 1024;

/// Why reading stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputEnd {
    /// The input ended, or is longer than the limit.
    Reached,
    /// Nothing more came in time; more may come later.
    TimedOut,
}

/// What arrives on standard input until it ends, until `quiet` passes without a byte, or until `limit` is exceeded:
/// then there is one byte more than `limit`. What arrived counts even if this process stood still in between.
///
/// # Errors
/// When standard input cannot be read.
pub fn read_standard_input(limit: usize, quiet: Duration) -> Result<(Vec<u8>, InputEnd), OsError> {
    let most = limit.saturating_add(1);
    let mut bytes = Vec::with_capacity(FIRST_BYTES.min(most));
    while bytes.len() < most {
        if !is_ready(quiet) {
            return Ok((bytes, InputEnd::TimedOut));
        }
        if bytes.len() == bytes.capacity() {
            bytes.reserve_exact(MORE_BYTES.min(most - bytes.len()));
        }
        match read_more(&mut bytes) {
            Ok(0) => break,
            Ok(_) => bytes.truncate(most),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(source) => return Err(OsError::io("read", "standard input".as_ref(), source)),
        }
    }
    Ok((bytes, InputEnd::Reached))
}

/// One read into the room that is left, which is neither cleared before nor copied after.
#[cfg(unix)]
fn read_more(bytes: &mut Vec<u8>) -> io::Result<usize> {
    Ok(rustix::io::read(standard_input(), rustix::buffer::spare_capacity(bytes))?)
}

#[cfg(not(unix))]
fn read_more(bytes: &mut Vec<u8>) -> io::Result<usize> {
    let held = bytes.len();
    bytes.resize(bytes.capacity(), 0);
    let read = io::Read::read(&mut io::stdin().lock(), bytes.get_mut(held..).unwrap_or_default());
    bytes.truncate(held + read.as_ref().copied().unwrap_or_default());
    read
}

/// Without the buffer that Rust's standard input brings.
#[cfg(unix)]
fn standard_input() -> std::os::fd::BorrowedFd<'static> {
    #[allow(unsafe_code, reason = "the number of standard input is known")]
    // SAFETY: nothing in this program closes standard input.
    unsafe {
        std::os::fd::BorrowedFd::borrow_raw(0)
    }
}

/// Whether standard input has bytes, or its end, within this time.
#[cfg(unix)]
fn is_ready(quiet: Duration) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    let started = time::now();
    loop {
        let left = quiet.saturating_sub(time::since(started));
        let left = Timespec::try_from(left).unwrap_or(Timespec { tv_sec: 1, tv_nsec: 0 });
        match poll(&mut [PollFd::from_borrowed_fd(standard_input(), PollFlags::IN)], Some(&left)) {
            Ok(count) => return count > 0,
            Err(rustix::io::Errno::INTR) => {}
            // What cannot be waited for is simply read.
            Err(_) => return true,
        }
    }
}

#[cfg(not(unix))]
fn is_ready(_: Duration) -> bool {
    let _ = time::now;
    true
}
