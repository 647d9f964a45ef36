//! Who is alive: each process holds the lock of a file of its own, and a lock that can be taken belongs to the dead.

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use crate::lock::{FileLock, LockKind};
use crate::{OsError, files};

/// What is known of somebody by name.
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
    /// Takes a name that nobody has had before; creates the folder if it is missing.
    ///
    /// The name must be a plain file name, and must be in no list that others ask [`Owner::dead`] about
    /// before this returns.
    ///
    /// # Errors
    /// [`OsError::LockBusy`] if somebody alive has the name.
    pub fn register(folder: &Path, name: String) -> Result<Self, OsError> {
        files::create_dir_owner_only(folder)?;
        let path = folder.join(&name);
        if !is_plain(&name) {
            return Err(OsError::NotAFile { path });
        }
        let lock = FileLock::acquire(&path, LockKind::Exclusive, Duration::ZERO)?;
        Ok(Self { name, folder: folder.to_owned(), lock })
    }

    /// The name of this process.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Those whose lock file is here and free, each told once: its file goes. Whoever hears it settles what
    /// the dead one held; see [`Owner::lost`] for a caller that could die before it has.
    ///
    /// A name without a file here is not told: it may be that of a process on another machine.
    pub fn dead(&self, names: Vec<String>) -> Vec<String> {
        let is_dead = |name: &String| {
            let lock = self.lock_of_the_lost(name);
            // The lock is still held, so that of several who ask at once only one is told.
            lock.is_some_and(|lock| std::fs::remove_file(lock.path()).is_ok())
        };
        names.into_iter().filter(is_dead).collect()
    }

    /// The same, told again and again until [`Owner::forget`].
    pub fn lost(&self, names: Vec<String>) -> Vec<String> {
        names.into_iter().filter(|name| self.lock_of_the_lost(name).is_some()).collect()
    }

    /// Removes the files of names that [`Owner::lost`] told and that hold nothing any more.
    pub fn forget(&self, lost: &[String]) {
        for name in lost.iter().filter(|name| is_plain(name)) {
            // Somebody else may have been faster; and a file that stays is only told again.
            let _ = std::fs::remove_file(self.folder.join(name));
        }
    }

    /// What is known of one name. The file of a dead one stays, until [`Owner::forget`].
    pub fn standing(&self, name: &str) -> Standing {
        let path = self.folder.join(name);
        if !is_plain(name) || !path.is_file() {
            return Standing::Unknown;
        }
        match FileLock::try_acquire(&path, LockKind::Exclusive) {
            Ok(Some(_)) => Standing::Dead,
            Ok(None) | Err(_) => Standing::Alive,
        }
    }

    /// Removes the files of all who are dead, but not of those who still hold something.
    pub fn forget_dead(&self, holders: &[String]) {
        let entries = std::fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        self.dead(names.filter(|name| !holders.contains(name)).collect());
    }

    fn lock_of_the_lost(&self, name: &str) -> Option<FileLock> {
        let path = self.folder.join(name);
        let is_here = is_plain(name) && path.is_file();
        is_here.then(|| FileLock::try_acquire(&path, LockKind::Exclusive).ok().flatten()).flatten()
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        // Nobody else ever uses this name, so nobody can hold the lock of a file that is gone.
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

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn the_living_are_not_dead_and_a_free_lock_is_told_once() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("owners");
        let first = Owner::register(&folder, "first".to_owned()).unwrap();
        let second = Owner::register(&folder, "second".to_owned()).unwrap();
        assert_eq!(first.name(), "first");
        std::fs::write(folder.join("crashed"), "").unwrap();
        let asked = names(&["first", "second", "crashed", "of-another-machine"]);
        assert_eq!(first.lost(asked.clone()), ["crashed"]);
        assert_eq!(second.lost(asked.clone()), ["crashed"], "told until it is forgotten");
        assert_eq!(second.dead(asked.clone()), ["crashed"]);
        assert_eq!(first.dead(asked.clone()), names(&[]));
        drop(second);
        assert_eq!(first.dead(asked), names(&[]), "one that left in order holds nothing");
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
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
    fn names_do_not_lead_out_of_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        let owners = folder.path().join("owners");
        let owner = Owner::register(&owners, "name".to_owned()).unwrap();
        std::fs::write(folder.path().join("outside"), "").unwrap();
        std::fs::create_dir(owners.join("folder")).unwrap();
        let absolute = folder.path().join("outside").to_string_lossy().into_owned();
        for name in ["", ".", "..", "../outside", "folder", "folder/", "./name", "a\\b", &absolute] {
            assert_eq!(owner.dead(names(&[name])), names(&[]), "{name:?}");
            owner.forget(&names(&[name]));
            let taken = Owner::register(&owners, name.to_owned());
            assert!(taken.is_err(), "{name:?}");
        }
        assert!(folder.path().join("outside").is_file() && owners.join("folder").is_dir());
    }
}
