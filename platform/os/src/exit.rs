//! Ends the process at once, for the hot path where freeing memory only costs time.

use std::io::Write;

/// Flushes stdout and ends the process without running destructors or exit handlers.
///
/// Blocks if another thread holds the lock of stdout. A closed stdout is not an error here: there
/// is nobody left to tell.
pub fn now(code: i32) -> ! {
    let _ = std::io::stdout().flush();
    leave(code)
}

/// Writes the answer straight to stdout, past Rust's buffer, and ends the process as [`now`] does.
///
/// Anything already in Rust's stdout buffer is dropped, so that the answer is all the reader sees.
pub fn answer(bytes: &[u8], code: i32) -> ! {
    write_stdout(bytes);
    leave(code)
}

#[cfg(unix)]
#[allow(unsafe_code, reason = "_exit has no wrapper in std or rustix")]
fn leave(code: i32) -> ! {
    // SAFETY: _exit takes any code, touches no memory of ours and does not return.
    unsafe { libc::_exit(code) }
}

#[cfg(not(unix))]
fn leave(code: i32) -> ! {
    std::process::exit(code)
}

#[cfg(unix)]
fn write_stdout(bytes: &[u8]) {
    crate::alarm::write_all_to_stdout(bytes);
}

#[cfg(not(unix))]
fn write_stdout(bytes: &[u8]) {
    let mut stdout = std::io::stdout().lock();
    let _ = stdout.write_all(bytes);
    let _ = stdout.flush();
}
