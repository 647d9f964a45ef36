//! Advisory locks between processes, with a bounded wait.

use std::fs::{File, Metadata, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::{Deadline, OsError};

const FIRST_PAUSE: Duration = Duration::from_millis(2);
const LONGEST_PAUSE: Duration = Duration::from_millis(32);

/// Who may hold the lock at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockKind {
    /// One holder.
    Exclusive,
    /// Any number of holders, none of them exclusive.
    Shared,
}

/// A held lock, released on drop and by the system when the process dies in any way.
///
/// The lock belongs to the open file, not to the existence of the file: a lock file left behind
/// never blocks anyone, and is never deleted, because deleting it would let two holders in. It is
/// advisory: it holds only between those who take it. Two locks on one path within one process
/// exclude each other as two processes do.
#[derive(Debug)]
pub struct FileLock {
    // Closing the file releases the lock.
    file: File,
    path: PathBuf,
}

impl FileLock {
    /// Takes the lock, waiting at most `wait` for other holders; creates the file if it is missing.
    pub fn acquire(path: &Path, kind: LockKind, wait: Duration) -> Result<Self, OsError> {
        let started = Instant::now();
        let deadline = Deadline::after(wait);
        let file = open(path)?;
        let mut pause = FIRST_PAUSE;
        loop {
            if try_lock(&file, kind, path)? {
                return Ok(Self { file, path: path.to_path_buf() });
            }
            if deadline.expired() {
                return Err(OsError::LockBusy {
                    path: path.to_path_buf(),
                    waited_ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
                });
            }
            std::thread::sleep(pause.min(deadline.remaining()));
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Takes the lock if it is free; `None` if another process holds it.
    pub fn try_acquire(path: &Path, kind: LockKind) -> Result<Option<Self>, OsError> {
        match Self::acquire(path, kind, Duration::ZERO) {
            Ok(lock) => Ok(Some(lock)),
            Err(OsError::LockBusy { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The lock file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the path still names the file that is locked. Where lock files are removed, and only by who holds
    /// their lock, this is to be asked before the lock is relied on.
    pub fn is_in_place(&self) -> bool {
        match (self.file.metadata(), self.path.symlink_metadata()) {
            (Ok(held), Ok(found)) => is_same(&held, &found),
            _ => false,
        }
    }
}

#[cfg(unix)]
fn is_same(one: &Metadata, other: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

/// Elsewhere a file that is open cannot be removed.
#[cfg(not(unix))]
fn is_same(_one: &Metadata, _other: &Metadata) -> bool {
    true
}

fn open(path: &Path) -> Result<File, OsError> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map_err(|source| OsError::io("open the lock file", path, source))
}

fn try_lock(file: &File, kind: LockKind, path: &Path) -> Result<bool, OsError> {
    let attempt = match kind {
        LockKind::Exclusive => file.try_lock(),
        LockKind::Shared => file.try_lock_shared(),
    };
    match attempt {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(source)) => Err(OsError::io("lock", path, source)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exclusive_excludes_and_shared_shares() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let held = FileLock::acquire(&path, LockKind::Exclusive, Duration::ZERO).unwrap();
        assert_eq!(held.path(), path);
        for kind in [LockKind::Exclusive, LockKind::Shared] {
            assert!(FileLock::try_acquire(&path, kind).unwrap().is_none());
        }
        drop(held);
        let first = FileLock::try_acquire(&path, LockKind::Shared).unwrap();
        let second = FileLock::try_acquire(&path, LockKind::Shared).unwrap();
        assert!(first.is_some() && second.is_some());
        assert!(FileLock::try_acquire(&path, LockKind::Exclusive).unwrap().is_none());
    }

    #[test]
    fn a_lock_file_left_behind_does_not_block_and_keeps_its_content() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        std::fs::write(&path, "pid 1").unwrap();
        let lock = FileLock::try_acquire(&path, LockKind::Exclusive).unwrap();
        assert!(lock.is_some());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "pid 1");
    }

    #[test]
    fn a_lock_file_that_was_replaced_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let lock = FileLock::try_acquire(&path, LockKind::Exclusive).unwrap().unwrap();
        assert!(lock.is_in_place());
        let elsewhere = folder.path().join("elsewhere");
        std::fs::rename(&path, &elsewhere).unwrap();
        assert!(!lock.is_in_place());
        std::fs::write(&path, "").unwrap();
        assert!(!lock.is_in_place());
        std::fs::rename(elsewhere, &path).unwrap();
        assert!(lock.is_in_place());
    }

    #[test]
    fn a_missing_folder_is_named_in_the_error() {
        let folder = tempfile::tempdir().unwrap();
        let error = FileLock::try_acquire(&folder.path().join("no/lock"), LockKind::Exclusive).unwrap_err();
        assert!(error.is_not_found());
        assert!(error.to_string().contains("no/lock"), "{error}");
    }
}
