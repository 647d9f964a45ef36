//! Reads what another process is about to tell the kernel, and where its paths lead.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, openat};

const PATH_BYTES: usize = libc::PATH_MAX as usize;
/// Pages are this large or a multiple of it.
const PAGE_BYTES: usize = 4096;

/// A thread of another process.
#[derive(Clone, Copy)]
pub(super) struct CallerProcess {
    pub(super) pid: u32,
}

/// What stands at an address.
pub(super) enum CallerText {
    Path(Vec<u8>),
    /// Nothing that the kernel would take for a path.
    NoPath,
    /// We may not look.
    Closed,
}

/// What a call does with a link at the end of a path.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum LastLink {
    Followed,
    Named,
}

impl CallerProcess {
    pub(super) fn text(self, address: u64) -> CallerText {
        let mut bytes = [0; PATH_BYTES];
        let length = match self.read(address, &mut bytes) {
            Ok(length) => length,
            Err(error) if is_bad_address(&error) => return CallerText::NoPath,
            Err(_) => return CallerText::Closed,
        };
        let read = bytes.get(..length).unwrap_or_default();
        match read.iter().position(|byte| *byte == 0) {
            None | Some(0) => CallerText::NoPath,
            Some(end) => CallerText::Path(read.get(..end).unwrap_or_default().to_vec()),
        }
    }

    pub(super) fn number(self, address: u64) -> Option<u64> {
        let mut bytes = [0; size_of::<u64>()];
        let is_whole = self.read(address, &mut bytes).is_ok_and(|length| length == bytes.len());
        is_whole.then(|| u64::from_ne_bytes(bytes))
    }

    /// As much as there is of `buffer.len()` bytes.
    fn read(self, address: u64, buffer: &mut [u8]) -> io::Result<usize> {
        match self.copy(address, buffer) {
            Err(error) if !is_bad_address(&error) => {
                File::open(format!("/proc/{}/mem", self.pid))?.read_at(buffer, address)
            }
            copied => copied,
        }
    }

    /// In pieces that end where pages do, because a piece that is not there as a whole is not copied at all.
    fn copy(self, address: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let address = usize::try_from(address).map_err(io::Error::other)?;
        let pid = libc::pid_t::try_from(self.pid).map_err(io::Error::other)?;
        let first = buffer.len().min(PAGE_BYTES - address % PAGE_BYTES);
        let second = buffer.len() - first;
        let piece = |start: usize, length| libc::iovec { iov_base: start as *mut libc::c_void, iov_len: length };
        let theirs = [piece(address, first), piece(address.wrapping_add(first), second)];
        let ours = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
        let pieces = if second == 0 { 1 } else { 2 };
        #[allow(unsafe_code, reason = "rustix has no wrapper")]
        // SAFETY: our piece is live and writable; theirs are addresses of the other process, which the kernel checks.
        let copied = unsafe { libc::process_vm_readv(pid, &raw const ours, 1, theirs.as_ptr(), pieces, 0) };
        usize::try_from(copied).map_err(|_| io::Error::last_os_error())
    }

    /// Where the path leads, free of links; `None` if it leads to nothing that could be written.
    pub(super) fn resolve(self, folder: Option<i32>, path: &[u8], last: LastLink) -> Option<PathBuf> {
        let path = Path::new(OsStr::from_bytes(path));
        let start = match folder {
            None | Some(libc::AT_FDCWD) => format!("/proc/{}/cwd", self.pid),
            Some(folder) => format!("/proc/{}/fd/{folder}", self.pid),
        };
        // An absolute path takes the place of the start.
        let full = Path::new(&start).join(path);
        if last == LastLink::Followed
            && let Some(found) = physical(&full)
        {
            return Some(found);
        }
        match (full.parent(), full.file_name()) {
            (Some(parent), Some(name)) => physical(parent).map(|parent| parent.join(name)),
            _ => physical(&full),
        }
    }
}

fn is_bad_address(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EFAULT | libc::EIO))
}

/// Whether a path is one of the system's own switches and devices and not an ordinary file.
pub(super) fn is_no_file(path: &Path) -> bool {
    let is_below = |folder: &str| path.starts_with(folder);
    (is_below("/dev") && !is_below("/dev/shm")) || is_below("/proc") || is_below("/sys")
}

/// The path of something that exists, as the kernel knows it.
fn physical(path: &Path) -> Option<PathBuf> {
    let opened = openat(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let found = std::fs::read_link(format!("/proc/self/fd/{}", opened.as_raw_fd())).ok()?;
    found.is_absolute().then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OURSELVES: fn() -> CallerProcess = || CallerProcess { pid: std::process::id() };

    fn text(bytes: &[u8]) -> Option<Vec<u8>> {
        match OURSELVES().text(bytes.as_ptr() as u64) {
            CallerText::Path(path) => Some(path),
            CallerText::NoPath | CallerText::Closed => None,
        }
    }

    #[test]
    fn a_path_is_read_up_to_its_end_wherever_it_stands_in_a_page() {
        let mut memory = vec![b'x'; 3 * PAGE_BYTES];
        for start in [0, 1, PAGE_BYTES - 1, PAGE_BYTES, PAGE_BYTES + 17] {
            for length in [1, 2, 100, PAGE_BYTES - 1] {
                memory[start + length] = 0;
                assert_eq!(text(&memory[start..]).map(|path| path.len()), Some(length), "{start} {length}");
                memory[start + length] = b'x';
            }
        }
        assert_eq!(text(&memory), None, "longer than a path may be");
        assert_eq!(text(b"\0"), None);
        assert!(matches!(OURSELVES().text(0), CallerText::NoPath));
        assert!(matches!(OURSELVES().text(8), CallerText::NoPath));
        assert!(matches!(CallerProcess { pid: 1 << 30 }.text(8), CallerText::Closed));
        let number = 0x1234_5678_9abc_def0_u64;
        assert_eq!(OURSELVES().number(&raw const number as u64), Some(number));
    }

    #[test]
    fn memory_that_cannot_be_copied_is_read_from_its_file() {
        let memory = File::open("/proc/self/mem").unwrap();
        let bytes = *b"content";
        let mut read = [0; 7];
        assert_eq!(memory.read_at(&mut read, bytes.as_ptr() as u64).unwrap(), 7);
        assert_eq!(read, bytes);
    }

    #[test]
    fn paths_lead_where_the_kernel_would_go() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        std::fs::create_dir_all(base.join("real/deep")).unwrap();
        std::fs::write(base.join("real/file"), "").unwrap();
        std::os::unix::fs::symlink("real", base.join("alias")).unwrap();
        std::os::unix::fs::symlink("real/file", base.join("link")).unwrap();
        let opened = File::open(&base).unwrap();
        let from = Some(opened.as_raw_fd());
        for (path, last, expected) in [
            ("real/file", LastLink::Followed, Some("real/file")),
            ("link", LastLink::Followed, Some("real/file")),
            ("link", LastLink::Named, Some("link")),
            ("alias/new", LastLink::Followed, Some("real/new")),
            ("alias/deep/../new", LastLink::Named, Some("real/new")),
            ("./new/", LastLink::Named, Some("new")),
            ("new", LastLink::Followed, Some("new")),
            ("none/new", LastLink::Followed, None),
        ] {
            let expected = expected.map(|expected| base.join(expected));
            assert_eq!(OURSELVES().resolve(from, path.as_bytes(), last), expected, "{path}");
            let absolute = base.join(path);
            let found = OURSELVES().resolve(None, absolute.as_os_str().as_bytes(), last);
            assert_eq!(found, expected, "{path}");
        }
        let here = std::env::current_dir().unwrap().canonicalize().unwrap();
        assert_eq!(OURSELVES().resolve(Some(libc::AT_FDCWD), b"n", LastLink::Named), Some(here.join("n")));
        assert_eq!(OURSELVES().resolve(Some(-5), b"n", LastLink::Named), None);
    }

    #[test]
    fn devices_are_no_files() {
        for (path, expected) in [
            ("/dev/null", true),
            ("/proc/self/fd/3", true),
            ("/sys/x", true),
            ("/dev/shm/x", false),
            ("/device", false),
            ("/home/dev/x", false),
        ] {
            assert_eq!(is_no_file(Path::new(path)), expected, "{path}");
        }
    }
}
