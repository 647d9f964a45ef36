//! Which hooks of git were installed, kept beside the repository's own files, so that all of them can be found again.

use crate::app::Status;
use crate::failure::Failure;
use crate::git_hooks::HookScriptKind;
use dispatch_os::files::{self, read_text_at_most, replace};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

const NAME: &str = "dispatch-hooks.json";
const MAX_BYTES: u64 = 1024 * 1024;

/// What was installed.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct GitHookRecord {
    #[serde(default)]
    pub(super) hooks: Vec<GitHookEntry>,
}

/// One hook of git.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct GitHookEntry {
    pub(super) name: String,
    pub(super) folder: PathBuf,
    pub(super) script: ScriptWord,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum ScriptWord {
    Program,
    Sourced,
}

impl From<ScriptWord> for HookScriptKind {
    fn from(word: ScriptWord) -> Self {
        match word {
            ScriptWord::Program => Self::Program,
            ScriptWord::Sourced => Self::Sourced,
        }
    }
}

pub(super) fn file_in(common: &Path) -> PathBuf {
    common.join(NAME)
}

impl GitHookRecord {
    pub(super) fn read(file: &Path) -> Result<Self, Failure> {
        let text = match read_text_at_most(file, MAX_BYTES) {
            Ok(text) => text,
            Err(error) if error.is_not_found() => return Ok(Self::default()),
            Err(error) => return Err(error.into()),
        };
        serde_json::from_str(&text).map_err(|error| {
            Failure::configuration(format!("cannot read {}", file.display()))
                .caused_by(&error)
                .hint("delete it and run `dispatch init --git` again")
        })
    }

    /// Keeps it; nothing is kept of nothing.
    pub(super) fn write(&self, file: &Path) -> Result<(), Failure> {
        if self.hooks.is_empty() {
            // What cannot be removed names hooks that no longer have lines of ours, which does no harm.
            let _ = files::remove_file(file);
            return Ok(());
        }
        let text = serde_json::to_vec_pretty(self).map_err(|error| Failure::of(Status::Internal, &error))?;
        Ok(replace(file, &text)?)
    }
}
