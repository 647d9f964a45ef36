//! The notes that background runs left, as far as they can be trusted.

use std::path::{Path, PathBuf};

use dispatch_os::files::{self, read_private_at_most};
use dispatch_os::time::SystemTime;
use serde::Deserialize;

/// Where the notes lie, below the workspace.
const PARTS: [&str; 2] = [".akira", "inbox"];
/// The most notes that are looked at.
const MAX_NOTES: usize = 500;
/// The largest note that is read; those that we write are smaller.
const MAX_NOTE_BYTES: u64 = 8 * 1024;

/// What a run left. Fields that a later version adds are not looked at.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct RunNote {
    pub(super) run_id: String,
    pub(super) hook_id: String,
    pub(super) trigger: String,
    pub(super) files: Vec<String>,
    pub(super) status: String,
    pub(super) reason: String,
    pub(super) summary: String,
    pub(super) patch: bool,
}

/// The folder, listed once.
pub(super) struct ResultsInbox {
    files: Vec<(SystemTime, PathBuf)>,
}

impl ResultsInbox {
    /// The inbox of a workspace, if it has one. Where it has none this is one failed system call.
    pub(super) fn open(workspace: &Path) -> Option<Self> {
        let folder = PARTS.iter().fold(workspace.to_path_buf(), |path, part| path.join(part));
        let entries = files::read_dir(&folder).ok()?;
        let is_folder = |path: &Path| files::symlink_metadata(path).is_ok_and(|found| found.is_dir());
        if !is_folder(&folder) || !folder.parent().is_some_and(is_folder) {
            return None;
        }
        let notes = entries.flatten().filter_map(|entry| {
            let is_note = entry.path().extension().is_some_and(|extension| extension == "json");
            let found = entry.metadata().ok().filter(|found| is_note && found.is_file())?;
            Some((found.modified().ok()?, entry.path()))
        });
        let mut files: Vec<_> = notes.take(MAX_NOTES).collect();
        files.sort();
        Some(Self { files })
    }

    pub(super) fn oldest_first(&self) -> impl Iterator<Item = &Path> {
        self.files.iter().map(|(_, path)| path.as_path())
    }

    /// A note that only this user can read. Files of a checked-out repository are readable by others, so a
    /// repository cannot speak to an agent through its inbox.
    pub(super) fn read(&self, file: &Path) -> Option<RunNote> {
        let bytes = read_private_at_most(file, MAX_NOTE_BYTES).ok()?;
        serde_json::from_slice(&bytes).ok().filter(|note: &RunNote| !note.hook_id.is_empty())
    }

    /// Whether this process may pass the note on: only one of several that remove it succeeds.
    pub(super) fn take(&self, file: &Path) -> bool {
        files::remove_file(file).is_ok()
    }
}
