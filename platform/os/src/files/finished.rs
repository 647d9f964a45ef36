//! Tells which files of a folder were finished, replaced or removed. What is written to a file that stays open tells
//! nothing: in a folder with a database that would be a message for every page.

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// What is read at once.
const BUFFER_BYTES: usize = 4 * 1024;

/// A queue of names.
pub struct FinishedFiles {
    queue: OwnedFd,
}

impl FinishedFiles {
    /// A queue for which no folder is watched yet.
    ///
    /// # Errors
    /// When the system gives no more of them.
    pub fn new() -> io::Result<Self> {
        Ok(Self { queue: inotify::init(CreateFlags::CLOEXEC)? })
    }

    /// Watches a folder. One that is watched already stays as it is.
    ///
    /// # Errors
    /// When it is no folder, or the system watches no more.
    pub fn watch(&self, folder: &Path) -> io::Result<()> {
        let ends = WatchFlags::CREATE | WatchFlags::CLOSE_WRITE | WatchFlags::DELETE | WatchFlags::MOVE;
        Ok(inotify::add_watch(&self.queue, folder, ends | WatchFlags::ONLYDIR).map(drop)?)
    }

    /// Waits for names; `None` if some may be missing.
    ///
    /// # Errors
    /// When the system cannot tell.
    pub fn wait(&self) -> io::Result<Option<Vec<OsString>>> {
        let mut buffer = [MaybeUninit::uninit(); BUFFER_BYTES];
        let mut messages = Reader::new(&self.queue, &mut buffer);
        let (mut names, mut is_complete) = (Vec::new(), true);
        loop {
            match messages.next() {
                Ok(message) => {
                    is_complete &= !message.events().intersects(ReadFlags::QUEUE_OVERFLOW | ReadFlags::IGNORED);
                    names.extend(message.file_name().map(|name| OsStr::from_bytes(name.to_bytes()).to_owned()));
                }
                Err(Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            }
            if messages.is_buffer_empty() {
                return Ok(is_complete.then_some(names));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{File, OpenOptions, remove_dir_all, rename, write};
    use std::io::Write;

    #[test]
    fn what_is_finished_replaced_or_removed_is_told_and_what_is_only_written_is_not() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("data");
        std::fs::create_dir(&folder).unwrap();
        write(folder.join("log"), "1").unwrap();
        let files = FinishedFiles::new().unwrap();
        assert!(files.watch(&root.path().join("none")).is_err());
        files.watch(&folder).unwrap();
        files.watch(&folder).unwrap();
        let mut log = OpenOptions::new().append(true).open(folder.join("log")).unwrap();
        (0..10).for_each(|_| log.write_all(b"2").unwrap());
        drop(File::open(folder.join("log")).unwrap());
        drop(log);
        assert_eq!(files.wait().unwrap().unwrap(), ["log"], "once, at its end");
        write(folder.join("new"), "1").unwrap();
        rename(folder.join("new"), folder.join("trust.json")).unwrap();
        let names = files.wait().unwrap().unwrap();
        assert!(names.contains(&"trust.json".into()), "{names:?}");
        remove_dir_all(&folder).unwrap();
        assert_eq!(files.wait().unwrap(), None, "nothing more is seen of it");
    }
}
