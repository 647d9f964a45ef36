//! A copy of the intent file for an editor, taken over only if it is valid and the file did not change meanwhile.

use std::path::{Path, PathBuf};

use dispatch_os::files;

use crate::error::IntentsError;
use crate::intent_file::{self, LIMIT_BYTES};
use crate::layout::{INTENTS_FILE, OrchestrationLayout};

/// A copy of the intent file. It stays on disk until it is taken over, so that a refusal loses no work.
#[derive(Debug)]
pub struct IntentFileDraft {
    layout: OrchestrationLayout,
    before: Option<String>,
    path: PathBuf,
}

/// What became of a draft.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DraftOutcome {
    /// It equals the intent file.
    Unchanged,
    /// It replaced the intent file.
    Replaced,
}

impl IntentFileDraft {
    pub(super) fn create(layout: &OrchestrationLayout) -> Result<Self, IntentsError> {
        intent_file::create(layout)?;
        let before = intent_file::read_text(layout)?;
        let folder = layout.local_folder().join("editing");
        files::create_dir_all(&folder).map_err(|source| IntentsError::io("create", &folder, source))?;
        let path = folder.join(INTENTS_FILE);
        files::replace(&path, before.as_deref().unwrap_or_default().as_bytes())?;
        Ok(Self { layout: layout.clone(), before, path })
    }

    /// The file to edit.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Replaces the intent file with the draft and removes the draft.
    ///
    /// # Errors
    /// When the draft has new errors, the intent file changed since the draft was made, or a file cannot be read or
    /// written. The draft stays.
    pub fn take_over(&self) -> Result<DraftOutcome, IntentsError> {
        let after = files::read_text_at_most(&self.path, LIMIT_BYTES)?;
        if self.before.as_deref() == Some(after.as_str()) {
            return Ok(DraftOutcome::Unchanged);
        }
        intent_file::replace_checked(&self.layout, self.before.as_deref(), &after)?;
        let _ = files::remove_file(&self.path);
        Ok(DraftOutcome::Replaced)
    }
}
