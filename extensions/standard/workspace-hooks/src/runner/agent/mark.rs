//! Writes down which input of which session an attempt became, for a process that comes after a crash.

use dispatch_os::files::{create_dir_owner_only, read_private_at_most, replace_with};
use dispatch_os::{Access, ReplaceOptions};
use ext_session_orchestrator::contract::DispatchId;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

const MAX_MARK_BYTES: u64 = 512 * 1024;

#[derive(Serialize, Deserialize)]
pub(super) struct DispatchMark {
    pub(super) session: String,
    /// None while it is not known whether the input arrived.
    pub(super) dispatch: Option<DispatchId>,
    /// The hook's own forms of secrets, for what the turn said meanwhile.
    pub(super) secret_patterns: Vec<String>,
    #[serde(skip)]
    file: PathBuf,
}

impl DispatchMark {
    pub(super) fn new(file: PathBuf, session: &str, secret_patterns: &[String]) -> Self {
        Self { session: session.to_owned(), dispatch: None, secret_patterns: secret_patterns.to_vec(), file }
    }

    /// Without it a crash costs a repetition, so an attempt goes on where it cannot be written.
    pub(super) fn keep(&self) {
        let options = ReplaceOptions { access: Access::OwnerOnly, ..ReplaceOptions::default() };
        if let (Some(folder), Ok(bytes)) = (self.file.parent(), serde_json::to_vec(self)) {
            let _ = create_dir_owner_only(folder).and_then(|()| replace_with(&self.file, &bytes, options));
        }
    }

    pub(super) fn read(file: &Path) -> Option<Self> {
        serde_json::from_slice(&read_private_at_most(file, MAX_MARK_BYTES).ok()?).ok()
    }
}
