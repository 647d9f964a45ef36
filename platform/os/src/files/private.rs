//! Files that hold secrets: refused or closed where others can open them.

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

/// Takes away from others what they may do with a file of this user, and gives the mode that it had; `None` if
/// there was nothing to take away, or there is no file.
///
/// The file itself is not opened. Windows has no modes: there the folder's access list decides.
///
/// # Errors
/// When it is a link, belongs to another user, or its mode cannot be changed.
pub fn close_to_others(path: &Path) -> Result<Option<u32>, OsError> {
    let found = match path.symlink_metadata() {
        Ok(found) => found,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(OsError::io("inspect", path, source)),
    };
    if found.is_symlink() {
        return Err(OsError::SymlinkRefused { path: path.to_path_buf() });
    }
    close(path, &found)
}

#[cfg(unix)]
fn close(path: &Path, found: &std::fs::Metadata) -> Result<Option<u32>, OsError> {
    use std::os::unix::fs::PermissionsExt;
    const OWNER: u32 = 0o700;
    let exposure = super::Exposure::of(found);
    let mode = found.permissions().mode() & 0o777;
    if !exposure.owned {
        return Err(OsError::OpenToOthers { path: path.to_path_buf(), mode });
    }
    if !exposure.open_to_others {
        return Ok(None);
    }
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode & OWNER))
        .map_err(|source| OsError::io("change the mode of", path, source))?;
    Ok(Some(mode))
}

#[cfg(not(unix))]
fn close(_path: &Path, _found: &std::fs::Metadata) -> Result<Option<u32>, OsError> {
    Ok(None)
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

    #[test]
    fn what_others_may_do_is_taken_away_and_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        assert_eq!(close_to_others(&path).unwrap(), None);
        std::fs::write(&path, "secret").unwrap();
        for (mode, told, after) in [(0o644, Some(0o644), 0o600), (0o666, Some(0o666), 0o600), (0o400, None, 0o400)] {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(close_to_others(&path).unwrap(), told, "{mode:o}");
            assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, after);
        }
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert!(matches!(close_to_others(&link), Err(OsError::SymlinkRefused { .. })));
    }
}
