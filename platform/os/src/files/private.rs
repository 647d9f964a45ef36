//! Reads files that hold secrets, and refuses those that others can read.

use std::fs::{File, OpenOptions};
use std::path::Path;

use super::SymlinkPolicy;
use super::create::{apply_links, is_link, open_error};
use super::read_file_at_most;
use crate::OsError;

/// The whole content of a file that belongs to this user and that others may not open.
///
/// A link in its place is refused. Windows has no modes: there the folder's access list decides.
pub fn read_private_at_most(path: &Path, limit: u64) -> Result<Vec<u8>, OsError> {
    let mut options = OpenOptions::new();
    options.read(true);
    if cfg!(not(unix)) && is_link(path) {
        return Err(OsError::SymlinkRefused { path: path.to_path_buf() });
    }
    apply_links(&mut options, SymlinkPolicy::Refuse);
    let file = options.open(path).map_err(|source| open_error("open", path, SymlinkPolicy::Refuse, source))?;
    require_private(&file, path)?;
    read_file_at_most(file, path, limit)
}

#[cfg(unix)]
fn require_private(file: &File, path: &Path) -> Result<(), OsError> {
    use std::os::unix::fs::MetadataExt;
    const OTHERS: u32 = 0o077;
    let found = file.metadata().map_err(|source| OsError::io("inspect", path, source))?;
    let mode = found.mode() & 0o777;
    let is_mine = found.uid() == rustix::process::geteuid().as_raw();
    if is_mine && mode & OTHERS == 0 {
        return Ok(());
    }
    Err(OsError::OpenToOthers { path: path.to_path_buf(), mode })
}

#[cfg(not(unix))]
fn require_private(_file: &File, _path: &Path) -> Result<(), OsError> {
    Ok(())
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn only_a_file_for_the_owner_alone_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys");
        std::fs::write(&path, "secret").unwrap();
        for (mode, is_read) in
            [(0o600, true), (0o400, true), (0o640, false), (0o604, false), (0o620, false), (0o777, false)]
        {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            let read = read_private_at_most(&path, 100);
            assert_eq!(read.is_ok(), is_read, "{mode:o}");
            if let Err(error) = read {
                assert!(error.to_string().contains(&format!("{mode:o}")) && error.hint().is_some(), "{error}");
            }
        }
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert!(matches!(read_private_at_most(&link, 100), Err(OsError::SymlinkRefused { .. })));
        assert!(read_private_at_most(&folder.path().join("none"), 100).unwrap_err().is_not_found());
    }
}
