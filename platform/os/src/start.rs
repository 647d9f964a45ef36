//! What a Unix program that the C library calls directly must do for itself: Rust's standard start is not run.

use std::ffi::{CStr, OsStr, OsString, c_char, c_int};
use std::os::unix::ffi::OsStrExt;

const STANDARD_STREAMS: [c_int; 3] = [0, 1, 2];

/// Takes over from the C library: a broken pipe is an error and not the end, and each standard stream is
/// open, so that no file of ours is ever mistaken for one. Call it first.
pub fn prepare() {
    #[allow(unsafe_code, reason = "signals and descriptors have no safe wrapper that works before anything else")]
    // SAFETY: plain system calls with constant arguments; nothing else runs yet.
    unsafe {
        libc::signal(libc::SIGPIPE, libc::SIG_IGN);
        for stream in STANDARD_STREAMS {
            if libc::fcntl(stream, libc::F_GETFD) == -1 {
                // The lowest free number is given, and that is this stream's.
                libc::open(c"/dev/null".as_ptr(), libc::O_RDWR);
            }
        }
    }
}

/// The command line without the program name.
///
/// # Safety
/// `count` and `words` are what the C library gave to `main`.
#[allow(unsafe_code, reason = "the C library's arguments are pointers")]
pub unsafe fn arguments(count: c_int, words: *const *const c_char) -> Vec<OsString> {
    let count = usize::try_from(count).unwrap_or_default();
    // SAFETY: by contract there are `count` words, each a C string that lives as long as the process.
    let words = (1..count).map(|index| unsafe { CStr::from_ptr(*words.add(index)) });
    words.map(|word| OsStr::from_bytes(word.to_bytes()).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_taken_byte_for_byte() {
        let words = [c"program".as_ptr(), c"Stop".as_ptr(), c"\xff".as_ptr()];
        #[allow(unsafe_code, reason = "the array stands for the C library's")]
        // SAFETY: three live C strings.
        let read = unsafe { arguments(3, words.as_ptr()) };
        assert_eq!(read, [OsString::from("Stop"), OsStr::from_bytes(b"\xff").to_owned()]);
        #[allow(unsafe_code, reason = "nothing is read")]
        // SAFETY: no word is read.
        let none = unsafe { arguments(0, std::ptr::null()) };
        assert!(none.is_empty());
    }
}
