//! Which processes are alive: each holds the lock of its own file, so a lock that can be taken belongs to a dead one.

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use crate::lock::{FileLock, LockKind};
use crate::{OsError, files};

/// How long a process that removes dead names, or asks about one, may hold its lock.
const TIDYING: Duration = Duration::from_millis(500);

/// What is known of a process by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It holds its lock.
    Alive,
    /// Its lock is free.
    Dead,
    /// It has no file here: it left in order, or is a process on another machine.
    Unknown,
}

/// This process among those who share a folder. Dropping it gives the name up.
#[derive(Debug)]
pub struct Owner {
    name: String,
    folder: PathBuf,
    lock: FileLock,
}

impl Owner {
    /// Takes a name that was not used before; creates the folder if it is missing.
    ///
    /// The name must be a plain file name, and must be in no list that others ask [`Owner::standing`] about
    /// before this returns.
    ///
    /// # Errors
    /// [`OsError::LockBusy`] if a live process has the name.
    pub fn register(folder: &Path, name: String) -> Result<Self, OsError> {
        files::create_dir_owner_only(folder)?;
        let path = folder.join(&name);
        if !is_plain(&name) {
            return Err(OsError::NotAFile { path });
        }
        loop {
            let lock = FileLock::acquire(&path, LockKind::Exclusive, TIDYING)?;
            // Somebody who tidied up may have had the lock before, and the file is gone then.
            if lock.is_in_place() {
                return Ok(Self { name, folder: folder.to_owned(), lock });
            }
        }
    }

    /// The name of this process.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What is known of one name. The file of a dead one stays, until [`Owner::forget_dead`].
    pub fn standing(&self, name: &str) -> Standing {
        match self.lock_of(name) {
            Ok(_) => Standing::Dead,
            Err(standing) => standing,
        }
    }

    /// Removes the files of all who are dead, but not of those who still hold something.
    pub fn forget_dead(&self, holders: &[String]) {
        let entries = std::fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        for name in names.filter(|name| !holders.contains(name)) {
            // The lock is held until the file is gone; a file that stays is found again.
            if let Ok(lock) = self.lock_of(&name) {
                let _ = std::fs::remove_file(lock.path());
            }
        }
    }

    /// The lock of a dead process; else what is known of the name.
    fn lock_of(&self, name: &str) -> Result<FileLock, Standing> {
        let path = self.folder.join(name);
        if !is_plain(name) || !path.is_file() {
            return Err(Standing::Unknown);
        }
        let lock = FileLock::try_acquire(&path, LockKind::Exclusive).ok().flatten().ok_or(Standing::Alive)?;
        if lock.is_in_place() { Ok(lock) } else { Err(Standing::Unknown) }
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        // No other process uses this name, so the lock of the removed file is not held.
        let _ = std::fs::remove_file(self.lock.path());
    }
}

/// Whether the name cannot lead out of the folder.
fn is_plain(name: &str) -> bool {
    let mut parts = Path::new(name).components();
    let is_one = matches!(parts.next(), Some(Component::Normal(part)) if part == OsStr::new(name));
    is_one && parts.next().is_none() && !name.contains('\\')
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn everybody_has_a_standing_and_the_dead_who_hold_nothing_are_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("owners");
        let first = Owner::register(&folder, "first".to_owned()).unwrap();
        let second = Owner::register(&folder, "second".to_owned()).unwrap();
        for name in ["crashed", "holds"] {
            std::fs::write(folder.join(name), "").unwrap();
            assert_eq!(first.standing(name), Dead);
        }
        first.forget_dead(&names(&["holds", "elsewhere"]));
        let standings = ["first", "second", "holds", "crashed", "..", ""].map(|name| first.standing(name));
        use Standing::{Alive, Dead, Unknown};
        assert_eq!(standings, [Alive, Alive, Dead, Unknown, Unknown, Unknown]);
        drop(second);
        assert_eq!(first.standing("second"), Unknown);
        first.forget_dead(&[]);
        assert_eq!(first.standing("holds"), Unknown);
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
    }

    #[test]
    fn a_name_is_taken_once() {
        let folder = tempfile::tempdir().unwrap();
        let _owner = Owner::register(folder.path(), "name".to_owned()).unwrap();
        let again = Owner::register(folder.path(), "name".to_owned());
        assert!(matches!(again, Err(OsError::LockBusy { .. })), "{again:?}");
    }

    #[test]
    fn a_name_is_taken_while_others_tidy_up() {
        let folder = tempfile::tempdir().unwrap();
        let janitor = Owner::register(folder.path(), "janitor".to_owned()).unwrap();
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while !done.load(Ordering::Relaxed) {
                        janitor.forget_dead(&[]);
                    }
                });
            }
            for number in 0..300 {
                let owner = Owner::register(folder.path(), format!("owner-{number}")).unwrap();
                assert_eq!(janitor.standing(owner.name()), Standing::Alive);
            }
            done.store(true, Ordering::Relaxed);
        });
    }

    #[test]
    fn names_do_not_lead_out_of_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        let owners = folder.path().join("owners");
        let owner = Owner::register(&owners, "name".to_owned()).unwrap();
        std::fs::write(folder.path().join("outside"), "").unwrap();
        std::fs::create_dir(owners.join("folder")).unwrap();
        let absolute = folder.path().join("outside").to_string_lossy().into_owned();
        for name in ["", ".", "..", "../outside", "folder", "folder/", "./name", "a\\b", &absolute] {
            assert_eq!(owner.standing(name), Standing::Unknown, "{name:?}");
            let taken = Owner::register(&owners, name.to_owned());
            assert!(taken.is_err(), "{name:?}");
        }
        owner.forget_dead(&[]);
        assert!(folder.path().join("outside").is_file() && owners.join("folder").is_dir());
    }
}
