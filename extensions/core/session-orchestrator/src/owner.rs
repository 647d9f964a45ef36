//! Who holds leases: each process has a lock file, and a lock that can be taken belongs to the dead.

use crate::conductor::Census;
use dispatch_os::lock::{FileLock, LockKind};
use dispatch_os::{OsError, files};
use std::path::{Path, PathBuf};

/// This process among the holders of leases. Dropping it gives the name up.
pub(crate) struct Owner {
    pub(crate) name: String,
    folder: PathBuf,
    lock: Option<FileLock>,
}

impl Owner {
    /// Takes a name of its own.
    pub(crate) fn register(folder: &Path, name: String) -> Result<Self, OsError> {
        files::create_dir_owner_only(folder)?;
        let lock = FileLock::try_acquire(&folder.join(&name), LockKind::Exclusive)?;
        Ok(Self { name, folder: folder.to_owned(), lock })
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        if let Some(lock) = self.lock.take() {
            // Nobody else ever uses this name, so nobody can hold the lock of a file that is gone.
            let _ = std::fs::remove_file(lock.path());
        }
    }
}

impl Census for Owner {
    /// Those whose lock file is here and free. Owners of other machines have none here: their leases
    /// run out by time.
    fn dead(&self, owners: Vec<String>) -> Vec<String> {
        let is_dead = |owner: &String| {
            let path = self.folder.join(owner);
            let plain = !owner.is_empty() && !owner.contains(['/', '\\']);
            if !plain || !path.is_file() {
                return false;
            }
            match FileLock::try_acquire(&path, LockKind::Exclusive) {
                Ok(Some(_)) => std::fs::remove_file(&path).is_ok(),
                Ok(None) | Err(_) => false,
            }
        };
        owners.into_iter().filter(is_dead).collect()
    }
}
