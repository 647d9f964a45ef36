//! Reads what another process is still writing, without waiting for ever.

use std::io::{self, Read as _};
use std::time::Duration;

use crate::OsError;
use crate::time;

/// The first read; a hook payload fits.
const FIRST_BYTES: usize = 16 * 1024;
/// A later read; a pipe gives no more at once.
const MORE_BYTES: usize = 64 * 1024;

/// What arrives on standard input until it ends, until `quiet` passes without a byte, or until `limit` is exceeded:
/// then there is one byte more than `limit`. What arrived counts even if this process stood still in between.
///
/// # Errors
/// When standard input cannot be read.
pub fn read_standard_input(limit: usize, quiet: Duration) -> Result<Vec<u8>, OsError> {
    let mut bytes = Vec::new();
    let mut stdin = io::stdin().lock();
    let mut room = FIRST_BYTES;
    while bytes.len() <= limit && is_ready(quiet) {
        let held = bytes.len();
        let wanted = room.min(limit + 1 - held);
        bytes.resize(held + wanted, 0);
        let target = bytes.get_mut(held..).unwrap_or_default();
        let read = match stdin.read(target) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => 0,
            Err(source) => return Err(OsError::io("read", "standard input".as_ref(), source)),
            Ok(0) => {
                bytes.truncate(held);
                break;
            }
            Ok(read) => read,
        };
        bytes.truncate(held + read);
        room = MORE_BYTES;
    }
    Ok(bytes)
}

/// Whether standard input has bytes, or its end, within this time.
#[cfg(unix)]
fn is_ready(quiet: Duration) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    let started = time::now();
    loop {
        let left = quiet.saturating_sub(time::since(started));
        let left = Timespec::try_from(left).unwrap_or(Timespec { tv_sec: 1, tv_nsec: 0 });
        let input = io::stdin();
        match poll(&mut [PollFd::new(&input, PollFlags::IN)], Some(&left)) {
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
