//! A file that tells how a child ended by itself, even if the process that waited for it did not live to see it.
//!
//! Every line is one small append, and the first line counts. Whoever is about to end the child says so in
//! the file before the first signal goes out, so an end that stands first was the child's own doing.
//! The file is locked for as long as anybody is there who could still write to it.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::ChildEnd;
use crate::OsError;
use crate::files;

const MAX_MARKER_BYTES: u64 = 256;
const STOP_LINE: &[u8] = b"stop\n";
const ORPHANED: &str = "orphaned";
/// The longest line, `exit -2147483648 orphaned` and its end, fits in.
const LINE_BYTES: usize = 32;

/// How a child ended by itself, as [`read_exit_marker`] found it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MarkedExit {
    /// How it ended.
    pub end: MarkedEnd,
    /// What had become of the process that ran it.
    pub parent: ParentThen,
}

/// An end that was not requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MarkedEnd {
    /// It exited.
    Exited {
        /// The exit code.
        code: i32,
    },
    /// A signal killed it that we did not send.
    Signalled {
        /// The signal number.
        signal: i32,
    },
}

/// Whether the process that ran the child could have had to do with its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParentThen {
    /// It lived when the child had ended.
    Alive,
    /// It was dead or dying when the end was seen. The child exited of its own accord, but a code other
    /// than 0 may come from a pipe that closed.
    Dying,
}

/// How the child ended that was run with this marker; `None` if it did not end by itself, or if the file is
/// missing, empty or torn.
pub fn read_exit_marker(path: &Path) -> Option<MarkedExit> {
    parse(&files::read_text_at_most(path, MAX_MARKER_BYTES).ok()?)
}

/// Whether an end may still be written: the process that ran the child, or the child's guardian, is not gone yet.
/// Asked before [`read_exit_marker`], it makes an end that is not there one that never comes. Where there are no
/// guardians, this is never so.
pub fn is_marker_open(path: &Path) -> bool {
    let is_locked = |file: File| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock));
    cfg!(unix) && File::open(path).is_ok_and(is_locked)
}

fn parse(text: &str) -> Option<MarkedExit> {
    let (line, _) = text.split_once('\n')?;
    let mut words = line.split(' ');
    let (kind, number) = (words.next()?, words.next()?.parse().ok()?);
    let end = match kind {
        "exit" => MarkedEnd::Exited { code: number },
        "signal" => MarkedEnd::Signalled { signal: number },
        _ => return None,
    };
    let parent = match words.next() {
        None => ParentThen::Alive,
        Some(ORPHANED) => ParentThen::Dying,
        Some(_) => return None,
    };
    words.next().is_none().then_some(MarkedExit { end, parent })
}

/// The marker of a child that is about to start or runs.
#[derive(Debug)]
pub(super) struct ExitMarker {
    path: PathBuf,
    file: File,
}

impl ExitMarker {
    /// Refuses a file that exists: it may be the only witness of another end.
    pub(super) fn create(path: &Path) -> Result<Self, OsError> {
        let mut options = OpenOptions::new();
        options.append(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(path).map_err(|source| OsError::io("create", path, source))?;
        // The guardian has the same open file, so the lock ends with the last of the two. Where files cannot be locked,
        // an end that comes late is not waited for.
        #[cfg(unix)]
        let _ = file.try_lock();
        Ok(Self { path: path.to_path_buf(), file })
    }

    #[cfg(target_os = "linux")]
    pub(super) fn descriptor(&self) -> std::os::fd::RawFd {
        std::os::fd::AsRawFd::as_raw_fd(&self.file)
    }

    /// To be called before anything is done that could end the child.
    pub(super) fn stop(&self) {
        // Without room for the line there is none for the child's end either.
        let _ = (&self.file).write_all(STOP_LINE);
    }

    /// Where no guardian does it.
    pub(super) fn end(&self, end: &ChildEnd) {
        let end = match *end {
            ChildEnd::Exited { code } => MarkedEnd::Exited { code },
            ChildEnd::Signalled { signal } => MarkedEnd::Signalled { signal },
            ChildEnd::TimedOut | ChildEnd::Cancelled | ChildEnd::FailedToStart(_) | ChildEnd::StatusUnknown => return,
        };
        let line = MarkerLine::new(MarkedExit { end, parent: ParentThen::Alive });
        let _ = line.and_then(|line| (&self.file).write_all(line.bytes()));
    }

    /// For a child that never ran.
    pub(super) fn remove(&self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// A line of the file, made without allocation.
pub(super) struct MarkerLine {
    bytes: [u8; LINE_BYTES],
    length: usize,
}

impl MarkerLine {
    pub(super) fn new(exit: MarkedExit) -> io::Result<Self> {
        let mut bytes = [0; LINE_BYTES];
        let mut writer = io::Cursor::new(&mut bytes[..]);
        match exit.end {
            MarkedEnd::Exited { code } => write!(writer, "exit {code}")?,
            MarkedEnd::Signalled { signal } => write!(writer, "signal {signal}")?,
        }
        match exit.parent {
            ParentThen::Alive => writeln!(writer)?,
            ParentThen::Dying => writeln!(writer, " {ORPHANED}")?,
        }
        let length = usize::try_from(writer.position()).unwrap_or_default();
        Ok(Self { bytes, length })
    }

    pub(super) fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exit(code: i32, parent: ParentThen) -> MarkedExit {
        MarkedExit { end: MarkedEnd::Exited { code }, parent }
    }

    #[test]
    fn what_is_written_is_read() {
        for parent in [ParentThen::Alive, ParentThen::Dying] {
            for number in [0, 3, 255, i32::MAX, i32::MIN] {
                for end in [MarkedEnd::Exited { code: number }, MarkedEnd::Signalled { signal: number }] {
                    let marked = MarkedExit { end, parent };
                    let line = MarkerLine::new(marked).unwrap();
                    let text = std::str::from_utf8(line.bytes()).unwrap();
                    assert_eq!(parse(text), Some(marked), "{text:?}");
                    for end in 0..text.len() {
                        assert_eq!(parse(&text[..end]), None, "torn: {:?}", &text[..end]);
                    }
                }
            }
        }
    }

    #[test]
    fn the_first_line_counts() {
        let lived = ParentThen::Alive;
        for (text, expected) in [
            ("exit 0\n", Some(exit(0, lived))),
            ("exit 3\nstop\n", Some(exit(3, lived))),
            ("exit 3 orphaned\nexit 4\n", Some(exit(3, ParentThen::Dying))),
            ("stop\nexit 0\n", None),
            ("stop\n", None),
            ("", None),
            ("\n", None),
            ("exit\n", None),
            ("exit \n", None),
            ("exit x\n", None),
            ("exit 1 2\n", None),
            ("exit 1 orphaned more\n", None),
            ("exit  1\n", None),
            ("left 1\n", None),
            ("\0\0\0\0\0\0\0", None),
            ("exit 99999999999\n", None),
        ] {
            assert_eq!(parse(text), expected, "{text:?}");
        }
    }

    #[test]
    fn a_marker_is_new_private_and_not_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("marker");
        assert_eq!(read_exit_marker(&path), None);
        assert!(!is_marker_open(&path));
        let marker = ExitMarker::create(&path).unwrap();
        #[cfg(unix)]
        assert!(is_marker_open(&path) && is_marker_open(&path), "however many ask");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        }
        assert_eq!(read_exit_marker(&path), None);
        marker.end(&ChildEnd::Exited { code: 7 });
        marker.stop();
        assert_eq!(read_exit_marker(&path), Some(exit(7, ParentThen::Alive)));
        assert!(ExitMarker::create(&path).is_err());
        assert_eq!(read_exit_marker(&path), Some(exit(7, ParentThen::Alive)));
        drop(marker);
        assert!(!is_marker_open(&path));
        std::fs::write(&path, "exit 1\n".repeat(100)).unwrap();
        assert_eq!(read_exit_marker(&path), None, "too long to be one");
        std::fs::write(&path, b"exit 1\n\xff").unwrap();
        assert_eq!(read_exit_marker(&path), None, "not text");
    }
}
