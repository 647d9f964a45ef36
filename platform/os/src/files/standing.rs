//! How a file stands on its disk: whose it is, who else may open it, and how much room is left beside it.

use std::fs::Metadata;
use std::path::Path;

/// Who can reach a file. Windows has no modes: there a file is taken to be the user's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exposure {
    /// Whether it belongs to the user of this process.
    pub owned: bool,
    /// Whether its mode lets anybody else read or write it.
    pub open_to_others: bool,
}

impl Exposure {
    /// The exposure in what the system says of a file.
    #[must_use]
    pub fn of(metadata: &Metadata) -> Self {
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            let user = rustix::process::geteuid().as_raw();
            Self { owned: metadata.uid() == user, open_to_others: metadata.mode() & 0o077 != 0 }
        }
        #[cfg(not(unix))]
        {
            let _ = metadata;
            Self { owned: true, open_to_others: false }
        }
    }
}

/// The bytes that this user may still write on the disk of a path; `None` where the system does not say.
#[must_use]
pub fn free_bytes(path: &Path) -> Option<u64> {
    #[cfg(unix)]
    {
        let disk = rustix::fs::statvfs(path).ok()?;
        disk.f_bavail.checked_mul(disk.f_frsize)
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::{Access, create_new};

    #[test]
    fn a_file_of_ours_is_ours_alone_if_it_was_made_so() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let made = create_new(&path, Access::OwnerOnly).unwrap();
        assert_eq!(Exposure::of(&made.metadata().unwrap()), Exposure { owned: true, open_to_others: false });
        if cfg!(unix) {
            assert!(free_bytes(folder.path()).is_some_and(|bytes| bytes > 0));
            assert_eq!(free_bytes(&folder.path().join("missing")), None);
        }
    }
}
