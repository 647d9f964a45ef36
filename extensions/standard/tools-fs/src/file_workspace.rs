//! What the file tools share: where they may work, what each session has read, and the lock of writers.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use dispatch_contracts::folders::Folders;
use dispatch_contracts::ids::SessionId;
use dispatch_contracts::tool::{Resources, ToolContext, ToolError};
use dispatch_os::files::{self, Durability, File, ReplaceOptions};
use dispatch_os::paths::normalise_path;
use dispatch_os::{Confined, ConfinedPath, OsError};
use serde_json::{Map, Value};

use crate::seen_files::{ContentDigest, SeenFiles};
use crate::tool_errors::explain;

/// The largest file that is read or written as a whole.
pub(crate) const MAX_FILE_BYTES: u64 = 16 * 1024 * 1024;

pub(crate) struct FileWorkspace {
    folders: Folders,
    seen: Mutex<SeenFiles>,
    writing: Mutex<()>,
}

/// A file as it was found.
pub(crate) struct LoadedFile {
    pub(crate) spot: ConfinedPath,
    pub(crate) bytes: Vec<u8>,
}

impl FileWorkspace {
    pub(crate) fn new(folders: Folders) -> Self {
        Self { folders, seen: Mutex::default(), writing: Mutex::default() }
    }

    pub(crate) fn workspace(&self, context: &ToolContext) -> Result<Confined, ToolError> {
        Confined::workspace(self.folders.project.as_deref(), &context.workdir)
            .map(|workspace| workspace.closing(&self.folders.closed_to_tools()))
            .map_err(|error| explain(&error, &context.workdir))
    }

    /// Where outputs are kept that were too large, if the path leads there.
    pub(crate) fn kept_output(&self, path: &Path) -> Option<ConfinedPath> {
        let folder = self.folders.outputs();
        if !path.starts_with(&folder) {
            return None;
        }
        Confined::workspace(None, &folder).ok()?.locate(path).ok()
    }

    /// Held from the look at a file to its replacement, so that two edits never start from the same text.
    pub(crate) fn write_lock(&self) -> MutexGuard<'_, ()> {
        self.writing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn remember(&self, session: &SessionId, path: &Path, bytes: &[u8]) {
        self.seen().remember(session, path, ContentDigest::of(bytes));
    }

    pub(crate) fn forget(&self, session: &SessionId, path: &Path) {
        self.seen().forget(session, path);
    }

    /// What the session last saw in the file, if anything.
    pub(crate) fn last_seen(&self, session: &SessionId, path: &Path) -> Option<ContentDigest> {
        self.seen().get(session, path)
    }

    /// Refuses a file that changed since the session saw it.
    pub(crate) fn check_unchanged(
        &self,
        session: &SessionId,
        found: &LoadedFile,
        shown: &Path,
    ) -> Result<(), ToolError> {
        match self.last_seen(session, found.spot.path()) {
            Some(digest) if digest != ContentDigest::of(&found.bytes) => Err(ToolError(format!(
                "{} changed on disk since you last read it. Nothing was written. Read it again with read_file, then repeat the change if it is still right.",
                shown.display()
            ))),
            _ => Ok(()),
        }
    }

    fn seen(&self) -> MutexGuard<'_, SeenFiles> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The key of the file that `path` names. Relative ones start at the program's folder; should the
    /// session work elsewhere, the write lock still keeps its edits apart.
    pub(crate) fn key(&self, path: &str) -> String {
        let path: PathBuf = normalise_path(&self.folders.workdir.join(path));
        format!("file:{}", path.display())
    }
}

/// The key of the one file that the arguments name.
pub(crate) fn touches_path(files: &FileWorkspace, arguments: &Map<String, Value>) -> Resources {
    match arguments.get("path").and_then(Value::as_str) {
        Some(path) => Resources::Keys(vec![files.key(path)]),
        None => Resources::Undeclared,
    }
}

/// The whole file; `None` if it does not exist.
pub(crate) fn load(spot: ConfinedPath, shown: &Path) -> Result<Option<LoadedFile>, ToolError> {
    match spot.open() {
        Ok(file) => load_open(file, spot, shown).map(Some),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(explain(&error, shown)),
    }
}

fn load_open(file: File, spot: ConfinedPath, shown: &Path) -> Result<LoadedFile, ToolError> {
    if file.metadata().is_ok_and(|found| found.is_dir()) {
        return Err(ToolError(format!("{} is a folder. Use list_files to see what is in it.", shown.display())));
    }
    let bytes = files::read_file_at_most(file, shown, MAX_FILE_BYTES).map_err(|error| explain(&error, shown))?;
    Ok(LoadedFile { spot, bytes })
}

/// Replaces the content of a file, unless it is protected against that.
pub(crate) fn store(spot: &ConfinedPath, bytes: &[u8], shown: &Path) -> Result<(), ToolError> {
    refuse_read_only(spot, shown)?;
    let options = ReplaceOptions { durability: Durability::Content, ..ReplaceOptions::default() };
    spot.replace(bytes, options).map_err(|error: OsError| explain(&error, shown))
}

/// Replacing goes by the folder's permissions, so those of the file have to be respected here.
pub(crate) fn refuse_read_only(spot: &ConfinedPath, shown: &Path) -> Result<(), ToolError> {
    let is_read_only = spot.open().and_then(|file| {
        file.metadata().map_err(|source| OsError::Io { action: "inspect", path: shown.to_path_buf(), source })
    });
    match is_read_only {
        Ok(found) if found.permissions().readonly() => {
            Err(ToolError(format!("{} is read-only. Nothing was written.", shown.display())))
        }
        _ => Ok(()),
    }
}
