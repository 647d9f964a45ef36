//! File work that stays below a folder, whatever links, `..` or other processes do meanwhile.
//!
//! A path is resolved first, links included; if it ends inside, the file is reached from the folder's own
//! descriptor, one name after the other, none of which may be a link. Whoever puts a link in between is
//! too late: the work fails instead of going elsewhere.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::closed::ClosedFolders;
use super::resolve_inside;
use crate::OsError;
use crate::files::{Access, ReplaceOptions};

/// A folder that file work stays in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confined {
    root: PathBuf,
    start: PathBuf,
    closed: Arc<ClosedFolders>,
}

impl Confined {
    /// The workspace of work that is done in `workdir`: the project, if that holds the folder, else the
    /// folder itself. Relative paths start at `workdir`.
    ///
    /// # Errors
    /// When a folder cannot be resolved or is not a folder.
    pub fn workspace(project: Option<&Path>, workdir: &Path) -> Result<Self, OsError> {
        let start = real(workdir)?;
        let project = project.and_then(|project| real(project).ok());
        let root = project.filter(|project| start.starts_with(project)).unwrap_or_else(|| start.clone());
        Ok(Self { root, start, closed: Arc::default() })
    }

    /// The same with folders that stay out of reach although they may lie inside: by links, by hard links, in
    /// another spelling. If the work itself happens in one of them, only the part that leads there is open.
    #[must_use]
    pub fn closing(self, folders: &[&Path]) -> Self {
        let closed = Arc::new(ClosedFolders::new(folders, &self.start));
        Self { closed, ..self }
    }

    /// The folder, links resolved.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Where relative paths start, links resolved.
    pub fn start(&self) -> &Path {
        &self.start
    }

    /// Where the path leads.
    ///
    /// # Errors
    /// [`OsError::Outside`] if that is not in the folder.
    pub fn locate(&self, path: &Path) -> Result<ConfinedPath, OsError> {
        let found = resolve_inside(&self.root, &self.start.join(path))?;
        if !found.is_inside() {
            return Err(OsError::Outside { path: path.to_path_buf(), root: self.root.clone() });
        }
        if self.closed.hold(&found.path) {
            return Err(OsError::Closed { path: path.to_path_buf() });
        }
        Ok(ConfinedPath { root: self.root.clone(), path: found.path, closed: Arc::clone(&self.closed) })
    }

    /// Whether a path leads into a folder that is closed, inside or not.
    pub fn is_closed(&self, path: &Path) -> bool {
        let found = resolve_inside(&self.root, &self.start.join(path)).map(|found| found.path);
        let open = |path: &Path| path.is_file().then(|| File::open(path).ok()).flatten();
        found.is_ok_and(|path| self.closed.hold(&path) || open(&path).is_some_and(|file| self.closed.hold_file(&file)))
    }

    /// Whether a folder that is closed lies below this one.
    pub fn has_closed_below(&self, path: &Path) -> bool {
        resolve_inside(&self.root, &self.start.join(path)).is_ok_and(|found| self.closed.lie_below(&found.path))
    }

    /// A path as it is shown: relative to where relative paths start, if it lies below.
    pub fn shown<'path>(&self, path: &'path Path) -> &'path Path {
        match path.strip_prefix(&self.start) {
            Ok(below) if below.as_os_str().is_empty() => Path::new("."),
            Ok(below) => below,
            Err(_) => path,
        }
    }

    /// Opens many paths one after the other.
    pub fn opener(&self) -> Opener {
        Opener { root: self.root.clone(), closed: Arc::clone(&self.closed), last: None }
    }
}

/// A place in a confined folder; nothing has to be there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfinedPath {
    root: PathBuf,
    path: PathBuf,
    closed: Arc<ClosedFolders>,
}

impl ConfinedPath {
    /// The real path, absolute.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens the regular file or folder for reading.
    ///
    /// # Errors
    /// [`OsError::NotAFile`] for anything else; [`OsError::LinkAppeared`] if a link was put in the way.
    pub fn open(&self) -> Result<File, OsError> {
        let (folder, name) = self.reach(MissingFolder::Refuse)?;
        open_file(&self.closed, &folder, name, &self.path)
    }

    /// Replaces or creates the file as [`crate::files::replace_with`] does, with the folders above it.
    ///
    /// # Errors
    /// As there; [`OsError::LinkAppeared`] if a link was put in the way.
    pub fn replace(&self, bytes: &[u8], options: ReplaceOptions) -> Result<(), OsError> {
        let (folder, name) = self.reach(MissingFolder::Create)?;
        let name = name.ok_or_else(|| OsError::NotAFile { path: self.path.clone() })?;
        system::replace(&folder, name, &self.path, bytes, options)
    }

    /// Who may open the file that is there, to make another one like it.
    ///
    /// # Errors
    /// When there is none.
    pub fn access(&self) -> Result<Access, OsError> {
        let found = self.open()?.metadata().map_err(|source| OsError::io("inspect", &self.path, source))?;
        #[cfg(unix)]
        {
            let mode = std::os::unix::fs::PermissionsExt::mode(&found.permissions());
            Ok(Access::Mode(mode & 0o777))
        }
        #[cfg(not(unix))]
        {
            let _ = found;
            Ok(Access::Usual)
        }
    }

    /// Removes the file.
    ///
    /// # Errors
    /// When it does not exist or is a folder.
    pub fn remove(&self) -> Result<(), OsError> {
        let (folder, name) = self.reach(MissingFolder::Refuse)?;
        let name = name.ok_or_else(|| OsError::NotAFile { path: self.path.clone() })?;
        system::remove(&folder, name, &self.path)
    }

    fn reach(&self, missing: MissingFolder) -> Result<(system::FolderHandle, Option<&std::ffi::OsStr>), OsError> {
        if self.path == self.root {
            return Ok((system::root(&self.root)?, None));
        }
        let parent = self.path.parent().unwrap_or(&self.root);
        Ok((system::walk(&self.root, parent, missing)?, self.path.file_name()))
    }
}

/// Opens paths below a confined folder that were found by walking it, where links may not be followed at
/// all. Remembers the last folder, since neighbours come one after the other.
pub struct Opener {
    root: PathBuf,
    closed: Arc<ClosedFolders>,
    last: Option<(PathBuf, system::FolderHandle)>,
}

impl Opener {
    /// The regular file at this absolute path.
    ///
    /// # Errors
    /// When it is anything else, or a link is in the way.
    pub fn open(&mut self, path: &Path) -> Result<File, OsError> {
        let name = path.file_name();
        let closed = Arc::clone(&self.closed);
        let file = open_file(&closed, self.folder_of(path)?, name, path)?;
        match file.metadata() {
            Ok(found) if found.is_file() => Ok(file),
            _ => Err(OsError::NotAFile { path: path.to_path_buf() }),
        }
    }

    /// Whether something is at this absolute path, with no link on the way to it.
    pub fn holds(&mut self, path: &Path) -> bool {
        let name = path.file_name();
        self.folder_of(path).is_ok_and(|folder| system::holds(folder, name))
    }

    fn folder_of(&mut self, path: &Path) -> Result<&system::FolderHandle, OsError> {
        let parent = path.parent().unwrap_or(&self.root).to_path_buf();
        let known = self.last.take().filter(|(folder, _)| *folder == parent);
        let opened = match known {
            Some((_, opened)) => opened,
            None if self.closed.hold(&parent) => return Err(OsError::Closed { path: path.to_path_buf() }),
            None => system::walk(&self.root, &parent, MissingFolder::Refuse)?,
        };
        Ok(&self.last.insert((parent, opened)).1)
    }
}

fn open_file(
    closed: &ClosedFolders,
    folder: &system::FolderHandle,
    name: Option<&std::ffi::OsStr>,
    path: &Path,
) -> Result<File, OsError> {
    let file = system::open(folder, name, path)?;
    if closed.hold_file(&file) {
        return Err(OsError::Closed { path: path.to_path_buf() });
    }
    Ok(file)
}

/// What to do about a folder that is not there.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MissingFolder {
    Refuse,
    Create,
}

fn real(folder: &Path) -> Result<PathBuf, OsError> {
    let resolved = resolve_inside(folder, Path::new(""))?.path;
    if resolved.is_dir() {
        return Ok(resolved);
    }
    let source = std::io::Error::from(std::io::ErrorKind::NotADirectory);
    Err(OsError::io("work in", folder, source))
}

#[cfg(unix)]
mod system {
    use std::ffi::OsStr;
    use std::fs::File;
    use std::os::fd::OwnedFd;
    use std::path::{Path, PathBuf};

    use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, mkdirat, openat, statat, unlinkat};
    use rustix::io::Errno;

    use super::MissingFolder;
    use crate::OsError;
    use crate::files::{self, ReplaceOptions, SymlinkPolicy};

    pub(super) use std::os::fd::OwnedFd as FolderHandle;

    #[cfg(target_os = "linux")]
    const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
    #[cfg(not(target_os = "linux"))]
    const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
    const NEW_FOLDER_MODE: rustix::fs::RawMode = 0o777;

    pub(super) fn root(root: &Path) -> Result<FolderHandle, OsError> {
        openat(CWD, root, FOLDER, Mode::empty()).map_err(|errno| failed("open", root, errno))
    }

    pub(super) fn walk(root_path: &Path, folder: &Path, missing: MissingFolder) -> Result<FolderHandle, OsError> {
        let outside = || OsError::Outside { path: folder.to_path_buf(), root: root_path.to_path_buf() };
        let names = folder.strip_prefix(root_path).map_err(|_| outside())?;
        let mut open = root(root_path)?;
        for name in names.components() {
            let name = name.as_os_str();
            let next = openat(&open, name, FOLDER | OFlags::NOFOLLOW, Mode::empty());
            open = match next {
                Err(Errno::NOENT) if missing == MissingFolder::Create => create(&open, name),
                // A link and a file are both "no folder" to the kernel.
                Err(Errno::LOOP | Errno::NOTDIR) if is_link(&open, name) => {
                    return Err(OsError::LinkAppeared { path: folder.to_path_buf() });
                }
                other => other,
            }
            .map_err(|errno| failed("open", folder, errno))?;
        }
        Ok(open)
    }

    fn create(folder: &FolderHandle, name: &OsStr) -> Result<OwnedFd, Errno> {
        match mkdirat(folder, name, Mode::from_raw_mode(NEW_FOLDER_MODE)) {
            Ok(()) | Err(Errno::EXIST) => openat(folder, name, FOLDER | OFlags::NOFOLLOW, Mode::empty()),
            Err(errno) => Err(errno),
        }
    }

    pub(super) fn open(folder: &FolderHandle, name: Option<&OsStr>, path: &Path) -> Result<File, OsError> {
        let name = name.unwrap_or(OsStr::new("."));
        let found = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).map_err(|errno| failed("open", path, errno))?;
        // Opening a device can have an effect, so its type is asked before.
        match FileType::from_raw_mode(found.st_mode) {
            FileType::RegularFile | FileType::Directory => {}
            FileType::Symlink => return Err(OsError::LinkAppeared { path: path.to_path_buf() }),
            _ => return Err(OsError::NotAFile { path: path.to_path_buf() }),
        }
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        match openat(folder, name, flags, Mode::empty()) {
            Ok(file) => Ok(file.into()),
            Err(Errno::LOOP) => Err(OsError::LinkAppeared { path: path.to_path_buf() }),
            Err(errno) => Err(failed("open", path, errno)),
        }
    }

    pub(super) fn holds(folder: &FolderHandle, name: Option<&OsStr>) -> bool {
        name.is_some_and(|name| statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).is_ok())
    }

    pub(super) fn replace(
        folder: &FolderHandle,
        name: &OsStr,
        path: &Path,
        bytes: &[u8],
        options: ReplaceOptions,
    ) -> Result<(), OsError> {
        let options = ReplaceOptions { symlink: SymlinkPolicy::Refuse, ..options };
        files::replace_with(&place(folder, path).join(name), bytes, options).map_err(|error| match error {
            OsError::Io { action, source, .. } => OsError::Io { action, path: path.to_path_buf(), source },
            OsError::SymlinkRefused { .. } => OsError::LinkAppeared { path: path.to_path_buf() },
            OsError::NotAFile { .. } => OsError::NotAFile { path: path.to_path_buf() },
            other => other,
        })
    }

    pub(super) fn remove(folder: &FolderHandle, name: &OsStr, path: &Path) -> Result<(), OsError> {
        unlinkat(folder, name, AtFlags::empty()).map_err(|errno| failed("remove", path, errno))
    }

    /// A path to the open folder itself, which stays valid when the folder is renamed or replaced. Where
    /// there is no `/proc`, the path that it had a moment ago.
    fn place(folder: &FolderHandle, path: &Path) -> PathBuf {
        let by_descriptor = PathBuf::from(format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(folder)));
        if cfg!(target_os = "linux") && by_descriptor.exists() {
            return by_descriptor;
        }
        path.parent().map(Path::to_path_buf).unwrap_or_default()
    }

    fn is_link(folder: &FolderHandle, name: &OsStr) -> bool {
        statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)
            .is_ok_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::Symlink)
    }

    fn failed(action: &'static str, path: &Path, errno: Errno) -> OsError {
        OsError::io(action, path, errno.into())
    }
}

/// Without descriptors of folders, the answer of the resolution has to do.
#[cfg(not(unix))]
mod system {
    use std::ffi::OsStr;
    use std::fs::File;
    use std::path::{Path, PathBuf};

    use super::MissingFolder;
    use crate::OsError;
    use crate::files::{self, ReplaceOptions, SymlinkPolicy};

    pub(super) use std::path::PathBuf as FolderHandle;

    pub(super) fn root(root: &Path) -> Result<FolderHandle, OsError> {
        Ok(root.to_path_buf())
    }

    pub(super) fn walk(_: &Path, folder: &Path, missing: MissingFolder) -> Result<FolderHandle, OsError> {
        if missing == MissingFolder::Create {
            std::fs::create_dir_all(folder).map_err(|source| OsError::io("create folder", folder, source))?;
        }
        Ok(folder.to_path_buf())
    }

    pub(super) fn open(_: &FolderHandle, _: Option<&OsStr>, path: &Path) -> Result<File, OsError> {
        File::open(path).map_err(|source| OsError::io("open", path, source))
    }

    pub(super) fn holds(folder: &FolderHandle, name: Option<&OsStr>) -> bool {
        name.is_some_and(|name| folder.join(name).symlink_metadata().is_ok())
    }

    pub(super) fn replace(
        _: &FolderHandle,
        _: &OsStr,
        path: &Path,
        bytes: &[u8],
        options: ReplaceOptions,
    ) -> Result<(), OsError> {
        files::replace_with(path, bytes, ReplaceOptions { symlink: SymlinkPolicy::Refuse, ..options })
    }

    pub(super) fn remove(_: &FolderHandle, _: &OsStr, path: &Path) -> Result<(), OsError> {
        std::fs::remove_file(path).map_err(|source| OsError::io("remove", path, source))
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
