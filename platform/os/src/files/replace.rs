//! Replaces a file as a whole: a reader sees the old content or the new one, never a part.

use std::fs::{File, Metadata};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::{Access, SymlinkPolicy, create_new};
use crate::{OsError, ids};

const TEMPORARY_PREFIX: &str = ".dispatch-";
const TEMPORARY_SUFFIX: &str = ".tmp";
const MAX_LINK_DEPTH: usize = 40;

/// What must be on the disk before the call returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// Nothing: whole after a crash of the process, perhaps the old content after a power cut.
    #[default]
    Process,
    /// The content: after a power cut the file is whole, old or new.
    Content,
    /// The content and the name: after a power cut the file is the new one.
    ContentAndName,
}

/// How to replace a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReplaceOptions {
    /// What must be on the disk before the call returns.
    pub durability: Durability,
    /// Who may open the file; [`Access::Usual`] keeps the permissions of the file it replaces.
    pub access: Access,
    /// What to do if the path is a symbolic link.
    pub symlink: SymlinkPolicy,
}

/// Replaces or creates the file with the default options.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<(), OsError> {
    replace_with(path, bytes, ReplaceOptions::default())
}

/// Replaces or creates the file: writes a temporary file in the same folder, then renames it.
///
/// On an error the old file is untouched and the temporary file is removed; a process killed midway
/// leaves one that [`remove_stale_temporaries`] finds. Anything but a regular file at the path is
/// refused. The owner of the old file is kept where the system allows that; set-id bits are not kept. A reader that has the
/// old file open goes on reading the old content; hard links to it keep the old content too.
pub fn replace_with(path: &Path, bytes: &[u8], options: ReplaceOptions) -> Result<(), OsError> {
    let (target, old) = find_target(path, options.symlink)?;
    let folder = match target.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
        _ => PathBuf::from("."),
    };
    let mut temporary = TemporaryFile::create(&folder, options.access, old.as_ref())?;
    temporary.fill(bytes, options, old.as_ref())?;
    temporary.rename_to(&target)?;
    if options.durability == Durability::ContentAndName {
        sync_folder(&folder)?;
    }
    Ok(())
}

/// Removes the temporary files that killed processes left in a folder; says how many.
///
/// Only files older than `minimum_age` are taken, so that a replacement under way is not disturbed.
pub fn remove_stale_temporaries(folder: &Path, minimum_age: Duration) -> Result<usize, OsError> {
    let entries = std::fs::read_dir(folder).map_err(|source| OsError::io("list", folder, source))?;
    let removed = entries
        .flatten()
        .filter(|entry| {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            name.starts_with(TEMPORARY_PREFIX)
                && name.ends_with(TEMPORARY_SUFFIX)
                && entry.metadata().is_ok_and(|found| found.is_file() && is_older(&found, minimum_age))
        })
        .filter(|entry| std::fs::remove_file(entry.path()).is_ok())
        .count();
    Ok(removed)
}

fn is_older(metadata: &Metadata, minimum_age: Duration) -> bool {
    metadata
        .modified()
        .ok()
        .and_then(|modified| SystemTime::now().duration_since(modified).ok())
        .is_some_and(|age| age >= minimum_age)
}

/// The path to rename to and, if there is a file to replace, what is known of it.
fn find_target(path: &Path, symlink: SymlinkPolicy) -> Result<(PathBuf, Option<Metadata>), OsError> {
    let mut target = path.to_path_buf();
    for _ in 0..MAX_LINK_DEPTH {
        let found = match target.symlink_metadata() {
            Ok(found) => found,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((target, None)),
            Err(source) => return Err(OsError::io("inspect", &target, source)),
        };
        if found.is_file() {
            return Ok((target, Some(found)));
        }
        if !found.is_symlink() {
            return Err(OsError::NotAFile { path: target });
        }
        if symlink == SymlinkPolicy::Refuse {
            return Err(OsError::SymlinkRefused { path: target });
        }
        let link = std::fs::read_link(&target).map_err(|source| OsError::io("read the link", &target, source))?;
        target = target.parent().unwrap_or(Path::new("")).join(link);
    }
    Err(OsError::TooManySymlinks { path: path.to_path_buf() })
}

/// A file that removes itself unless it was renamed.
struct TemporaryFile {
    file: Option<File>,
    path: PathBuf,
    renamed: bool,
}

impl TemporaryFile {
    fn create(folder: &Path, access: Access, old: Option<&Metadata>) -> Result<Self, OsError> {
        let name = format!("{TEMPORARY_PREFIX}{}{TEMPORARY_SUFFIX}", ids::hex_id(16));
        let path = folder.join(name);
        // With an old file to imitate, the content stays private until its permissions are known.
        let access = if old.is_some() { Access::OwnerOnly } else { access };
        let file = create_new(&path, access)?;
        Ok(Self { file: Some(file), path, renamed: false })
    }

    fn fill(&mut self, bytes: &[u8], options: ReplaceOptions, old: Option<&Metadata>) -> Result<(), OsError> {
        let Some(mut file) = self.file.take() else {
            return Ok(());
        };
        let written =
            file.write_all(bytes).and_then(|()| set_permissions(&file, options.access, old)).and_then(
                |()| match options.durability {
                    Durability::Process => Ok(()),
                    Durability::Content | Durability::ContentAndName => file.sync_all(),
                },
            );
        written.map_err(|source| OsError::io("write", &self.path, source))
    }

    fn rename_to(mut self, target: &Path) -> Result<(), OsError> {
        std::fs::rename(&self.path, target).map_err(|source| OsError::io("replace", target, source))?;
        self.renamed = true;
        Ok(())
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        // Windows does not remove a file that is open.
        self.file = None;
        if !self.renamed {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

#[cfg(unix)]
fn set_permissions(file: &File, access: Access, old: Option<&Metadata>) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
    if let Some(old) = old {
        let new = file.metadata()?;
        if (new.uid(), new.gid()) != (old.uid(), old.gid()) {
            // Only a privileged process may give a file away; for others the new owner stands.
            let _ = fchown(file, Some(old.uid()), Some(old.gid()));
        }
    }
    let mode = match (access, old) {
        (Access::Usual, None) => return Ok(()),
        (Access::Usual, Some(old)) => old.permissions().mode() & 0o777,
        (Access::OwnerOnly, _) => 0o600,
        (Access::Mode(mode), _) => mode,
    };
    file.set_permissions(std::fs::Permissions::from_mode(mode))
}

#[cfg(not(unix))]
fn set_permissions(_file: &File, _access: Access, _old: Option<&Metadata>) -> io::Result<()> {
    Ok(())
}

#[cfg(unix)]
fn sync_folder(folder: &Path) -> Result<(), OsError> {
    File::open(folder).and_then(|open| open.sync_all()).map_err(|source| OsError::io("sync folder", folder, source))
}

#[cfg(not(unix))]
fn sync_folder(_folder: &Path) -> Result<(), OsError> {
    Ok(())
}
