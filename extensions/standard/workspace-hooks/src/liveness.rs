//! Which processes that hold runs are alive: each holds the lock of a file of its own.

use crate::engine::{Census, Standing};
use dispatch_os::lock::{FileLock, LockKind};
use dispatch_os::{OsError, files};
use std::path::{Path, PathBuf};

/// This process among the owners of runs. Dropping it gives the name up.
pub(crate) struct Liveness {
    name: String,
    folder: PathBuf,
    lock: Option<FileLock>,
}

impl Liveness {
    /// Takes a name that nobody has had before.
    pub(crate) fn register(folder: &Path, name: String) -> Result<Self, OsError> {
        files::create_dir_owner_only(folder)?;
        let lock = FileLock::try_acquire(&folder.join(&name), LockKind::Exclusive)?;
        Ok(Self { name, folder: folder.to_owned(), lock })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}

impl Drop for Liveness {
    fn drop(&mut self) {
        if let Some(lock) = self.lock.take() {
            // Nobody else ever uses this name, so nobody can hold the lock of a file that is gone.
            let _ = std::fs::remove_file(lock.path());
        }
    }
}

impl Census for Liveness {
    /// The file of a dead owner stays: whoever settles its runs may die as well.
    fn standing(&self, owner: &str) -> Standing {
        let path = self.folder.join(owner);
        let plain = !owner.is_empty() && !owner.contains(['/', '\\']) && owner != "." && owner != "..";
        if !plain || !path.is_file() {
            return Standing::Unknown;
        }
        match FileLock::try_acquire(&path, LockKind::Exclusive) {
            Ok(Some(_)) => Standing::Dead,
            Ok(None) | Err(_) => Standing::Alive,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_free_lock_belongs_to_the_dead_and_no_lock_to_nobody() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("owners");
        let first = Liveness::register(&folder, "first".into()).unwrap();
        let second = Liveness::register(&folder, "second".into()).unwrap();
        assert_eq!(first.name(), "first");
        std::fs::write(folder.join("crashed"), "").unwrap();
        assert_eq!(first.standing("second"), Standing::Alive);
        assert_eq!(first.standing("crashed"), Standing::Dead);
        assert_eq!(first.standing("crashed"), Standing::Dead, "told as often as it is asked");
        drop(second);
        for unknown in ["second", "", "..", "../first", "never"] {
            assert_eq!(first.standing(unknown), Standing::Unknown, "{unknown:?}");
        }
    }
}
