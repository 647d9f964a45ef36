//! New files and folders with the right permissions from their first moment.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::path::Path;

use super::SymlinkPolicy;
use crate::OsError;

/// Who may open a file that is created. Windows has no modes: there the folder's access list decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Access {
    /// Whatever the user's umask gives; a file that is replaced keeps its permissions.
    #[default]
    Usual,
    /// The owner alone (0600).
    OwnerOnly,
    /// Exactly this Unix mode.
    Mode(u32),
}

impl Access {
    /// The mode to create with; the umask may take bits away.
    #[cfg(unix)]
    pub(super) fn creation_mode(self) -> u32 {
        match self {
            Self::Usual => 0o666,
            Self::OwnerOnly => 0o600,
            Self::Mode(mode) => mode,
        }
    }
}

/// Creates a file that did not exist before and opens it for writing; fails if anything is at the path.
pub fn create_new(path: &Path, access: Access) -> Result<File, OsError> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    apply_mode(&mut options, access);
    options.open(path).map_err(|source| OsError::io("create", path, source))
}

/// Creates a folder and the missing folders above it, each for the owner alone (0700).
///
/// A folder that exists is left as it is.
pub fn create_dir_owner_only(path: &Path) -> Result<(), OsError> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path).map_err(|source| OsError::io("create folder", path, source))
}

#[cfg(unix)]
pub(super) fn apply_mode(options: &mut OpenOptions, access: Access) {
    std::os::unix::fs::OpenOptionsExt::mode(options, access.creation_mode());
}

#[cfg(not(unix))]
pub(super) fn apply_mode(_options: &mut OpenOptions, _access: Access) {}

/// Makes the opening itself refuse a link, where the system can, and never wait for the other end of a pipe.
pub(super) fn apply_links(options: &mut OpenOptions, symlink: SymlinkPolicy) {
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        let mut flags = OFlags::NONBLOCK;
        if symlink == SymlinkPolicy::Refuse {
            flags |= OFlags::NOFOLLOW;
        }
        std::os::unix::fs::OpenOptionsExt::custom_flags(options, flags.bits().cast_signed());
    }
    #[cfg(not(unix))]
    let _ = (options, symlink);
}

/// Why opening failed; a refused link is a separate error.
pub(super) fn open_error(action: &'static str, path: &Path, symlink: SymlinkPolicy, source: io::Error) -> OsError {
    if symlink == SymlinkPolicy::Refuse && is_link(path) {
        return OsError::SymlinkRefused { path: path.to_path_buf() };
    }
    OsError::io(action, path, source)
}

pub(super) fn is_link(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_symlink())
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn mode(path: &Path) -> u32 {
        std::fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn owner_only_things_are_closed_to_others() {
        let folder = tempfile::tempdir().unwrap();
        let nested = folder.path().join("a/b/c");
        create_dir_owner_only(&nested).unwrap();
        create_dir_owner_only(&nested).unwrap();
        assert_eq!(mode(&folder.path().join("a")), 0o700);
        assert_eq!(mode(&nested), 0o700);

        let file = nested.join("secret");
        create_new(&file, Access::OwnerOnly).unwrap();
        assert_eq!(mode(&file), 0o600);
        let again = create_new(&file, Access::OwnerOnly).unwrap_err();
        assert_eq!(again.io_kind(), Some(io::ErrorKind::AlreadyExists));
    }

    #[test]
    fn a_file_in_the_way_of_a_folder_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "").unwrap();
        assert!(create_dir_owner_only(&file).is_err());
        assert!(create_dir_owner_only(&file.join("below")).is_err());
    }

    #[test]
    fn create_new_does_not_go_through_a_dangling_link() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(folder.path().join("target"), &link).unwrap();
        assert!(create_new(&link, Access::OwnerOnly).is_err());
        assert!(!folder.path().join("target").exists());
    }
}
