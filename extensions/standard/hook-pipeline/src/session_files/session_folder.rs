//! Makes sure that the session's folder is where it seems to be before anything is written to it.

use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use dispatch_hook_module::Paths;
use dispatch_os::paths::resolve_inside;

use super::FilesError;
use super::append::refuse_link;
use super::brief_lock::HeldLock;

/// The deepest folder a module may make below its own.
const MAX_DEPTH: usize = 12;

/// Where lock files are, below the session's folder.
const LOCKS_FOLDER: &str = "locks";

/// A session's folder that is known not to lead elsewhere.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SessionFolder<'a> {
    paths: &'a Paths,
}

impl<'a> SessionFolder<'a> {
    /// Looks at the folders on the way.
    ///
    /// # Errors
    /// When `.ai/tmp` or the session's folder is a link, or `.ai` is one that leads out of the workspace.
    pub(crate) fn check(paths: &'a Paths) -> Result<Self, FilesError> {
        refuse_link(&paths.session_root.join(LOCKS_FOLDER))?;
        refuse_link(&paths.session_root)?;
        refuse_link(&paths.work_root)?;
        paths.work_folders_above().try_for_each(refuse_link)?;
        if let Some(top) = paths.top_folder()
            && refuse_link(top).is_err()
            && !resolve_inside(&paths.repo_root, top)?.is_inside()
        {
            return Err(FilesError::Link { path: top.to_path_buf() });
        }
        Ok(Self { paths })
    }

    /// Makes the session's folder and the one for its locks.
    ///
    /// # Errors
    /// When the system refuses.
    pub(crate) fn create(&self) -> Result<(), FilesError> {
        let locks = self.paths.session_root.join(LOCKS_FOLDER);
        dispatch_os::files::create_dir_all(&locks).map_err(|source| FilesError::io("create", &locks, source))
    }

    /// A lock file of the session.
    #[must_use]
    pub(crate) fn lock_file(&self, name: &str) -> PathBuf {
        self.paths.session_root.join(LOCKS_FOLDER).join(name)
    }

    /// Takes a lock of the session, waiting at most `wait`; nothing if it cannot be had.
    #[must_use]
    pub(crate) fn lock(&self, name: &str, wait: Duration) -> Option<HeldLock> {
        HeldLock::acquire(&self.lock_file(name), wait)
    }

    /// Keeps other invocations for the same delivery waiting.
    #[must_use]
    pub(crate) fn deliver(&self, key: &str, wait: Duration) -> Option<HeldLock> {
        let slot = key.get(..1)?;
        let started = dispatch_os::time::now();
        let lock = self.lock(slot, wait);
        let left = wait.saturating_sub(dispatch_os::time::since(started));
        if lock.is_some() || left.is_zero() {
            return lock;
        }
        // Nobody held it: the folder was missing, or another invocation has only just made it.
        self.create().ok()?;
        self.lock(slot, left)
    }

    /// The path of a file below `folder`, which is in the session; the folders on the way are made.
    ///
    /// # Errors
    /// When the path leaves the folder or goes through a link.
    pub(crate) fn file_below(&self, folder: &Path, relative: &str) -> Result<PathBuf, FilesError> {
        let outside = || FilesError::Outside { path: relative.to_owned() };
        let below = folder.strip_prefix(&self.paths.session_root).map_err(|_| outside())?;
        let parts: Vec<_> = Path::new(relative).components().collect();
        let plain = parts.iter().all(|part| matches!(part, Component::Normal(_)));
        if parts.is_empty() || parts.len() > MAX_DEPTH || !plain || relative.contains(['\\', '\0', ':']) {
            return Err(outside());
        }
        let mut at = self.paths.session_root.clone();
        let (folders, name) = parts.split_at(parts.len() - 1);
        for part in below.components().chain(folders.iter().copied()) {
            at.push(part);
            refuse_link(&at)?;
        }
        dispatch_os::files::create_dir_all(&at).map_err(|source| FilesError::io("create", &at, source))?;
        at.extend(name);
        refuse_link(&at)?;
        Ok(at)
    }

    /// The paths of the session.
    #[must_use]
    pub(crate) fn paths(&self) -> &'a Paths {
        self.paths
    }
}
