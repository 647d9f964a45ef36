//! The file that the data is in: made for its owner alone, never reached through a planted link, and
//! never opened by anything but SQLite, because closing it elsewhere would drop SQLite's locks.

use crate::contract::Location;
use dispatch_contracts::storage::StorageError;
use dispatch_os::files::{Access, canonicalize, create_dir_owner_only, create_new, symlink_metadata};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Where the data is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ResolvedLocation {
    /// In this file, below a folder whose links are resolved.
    File(PathBuf),
    /// In memory.
    Memory,
}

impl ResolvedLocation {
    /// Makes the folder and the file if they are missing.
    pub(crate) fn prepare(location: &Location) -> Result<Self, StorageError> {
        let Location::File(path) = location else { return Ok(Self::Memory) };
        let (folder, _) = parts(path)?;
        create_dir_owner_only(folder).map_err(|error| StorageError::Unwritable(error.to_string()))?;
        let path = resolved(path)?;
        match create_new(&path, Access::OwnerOnly) {
            Ok(_) => {}
            Err(error) if exists(&path) => drop(error),
            Err(error) => return Err(StorageError::Unwritable(error.to_string())),
        }
        check_kind(&path)?;
        Ok(Self::File(path))
    }

    /// The file, if there is one; nothing is made.
    pub(crate) fn find(path: &Path) -> Result<Option<PathBuf>, StorageError> {
        let Ok(path) = resolved(path) else { return Ok(None) };
        if !exists(&path) {
            return Ok(None);
        }
        check_kind(&path)?;
        Ok(Some(path))
    }

    pub(crate) fn path(&self) -> Option<&Path> {
        match self {
            Self::File(path) => Some(path),
            Self::Memory => None,
        }
    }
}

/// The path with a suffix behind its file name: SQLite's own naming of companions.
pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(suffix);
    path.with_file_name(name)
}

fn parts(path: &Path) -> Result<(&Path, &std::ffi::OsStr), StorageError> {
    match (path.parent(), path.file_name()) {
        (Some(folder), Some(name)) if folder.as_os_str().is_empty() => Ok((Path::new("."), name)),
        (Some(folder), Some(name)) => Ok((folder, name)),
        _ => Err(StorageError::Unwritable(format!("`{}` names no file", path.display()))),
    }
}

/// SQLite refuses links anywhere in a path; those in the folders above are the user's own business.
fn resolved(path: &Path) -> Result<PathBuf, StorageError> {
    let (folder, name) = parts(path)?;
    let folder = canonicalize(folder)
        .map_err(|error| StorageError::Unwritable(format!("cannot open folder {}: {error}", folder.display())))?;
    Ok(folder.join(name))
}

fn exists(path: &Path) -> bool {
    !matches!(symlink_metadata(path), Err(error) if error.kind() == ErrorKind::NotFound)
}

fn check_kind(path: &Path) -> Result<(), StorageError> {
    let metadata = symlink_metadata(path)
        .map_err(|error| StorageError::Unwritable(format!("cannot look at {}: {error}", path.display())))?;
    if metadata.is_symlink() {
        let said = format!("{} is a symbolic link; name the file itself in `storage.url`", path.display());
        return Err(StorageError::Unwritable(said));
    }
    if !metadata.is_file() {
        return Err(StorageError::Unwritable(format!("{} is not a regular file", path.display())));
    }
    Ok(())
}
