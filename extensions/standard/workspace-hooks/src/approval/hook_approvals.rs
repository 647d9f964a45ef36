//! The fingerprints of the hooks that the user approved, so that a change to one hook of a file leaves the others be.

use super::{fingerprints_in, real_file};
use dispatch_os::files::{ReplaceOptions, create_dir_owner_only, read_at_most, replace_with};
use dispatch_os::{Access, Durability};
use dispatch_trust::TrustError;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The file, beside the one of approved contents.
pub(super) const APPROVALS_FILE: &str = "hook-approvals.json";
/// The largest one; some hundred thousand hooks.
const LIMIT_BYTES: u64 = 8 * 1024 * 1024;

/// The approved hooks of each file of hooks.
#[derive(Clone, Debug, Default)]
pub struct HookApprovals {
    file: PathBuf,
    wire: ApprovalsWire,
    /// As they are on the disk.
    stored: ApprovalsWire,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct ApprovalsWire {
    /// File of hooks, absolute and without links, to fingerprints.
    approved: BTreeMap<PathBuf, BTreeSet<String>>,
}

/// Whether the content of a file of hooks keeps every rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookFileValidity {
    /// It does.
    Valid,
    /// It does not, so its hooks do not run although they are approved.
    Invalid,
}

impl HookApprovals {
    /// Those that are kept beside the user's approvals of contents; none if they cannot be read, for whatever reason.
    #[must_use]
    pub fn beside(trust_file: &Path) -> Self {
        Self::load(&trust_file.with_file_name(APPROVALS_FILE))
    }

    pub(super) fn load(file: &Path) -> Self {
        let bytes = read_at_most(file, LIMIT_BYTES).unwrap_or_default();
        let stored: ApprovalsWire = serde_json::from_slice(&bytes).unwrap_or_default();
        Self { file: file.to_path_buf(), wire: stored.clone(), stored }
    }

    /// Approves the hooks in this content of a file of hooks, in place of those before. A path that is not text cannot
    /// be remembered.
    pub fn approve(&mut self, hooks_file: &Path, content: &[u8]) -> HookFileValidity {
        let (fingerprints, validity) = fingerprints_in(hooks_file, content);
        let file = real_file(hooks_file);
        if file.to_str().is_some() {
            self.wire.approved.insert(file, fingerprints);
        }
        validity
    }

    /// Takes back the approval of the hooks of a file.
    pub fn revoke(&mut self, hooks_file: &Path) {
        self.wire.approved.remove(&real_file(hooks_file));
    }

    /// Keeps what has changed, for the owner alone.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn save(&mut self) -> Result<(), TrustError> {
        if self.wire == self.stored {
            return Ok(());
        }
        if let Some(folder) = self.file.parent() {
            create_dir_owner_only(folder)?;
        }
        let text = serde_json::to_vec_pretty(&self.wire)
            .map_err(|source| TrustError::Damaged { path: self.file.clone(), source })?;
        let options =
            ReplaceOptions { durability: Durability::Content, access: Access::OwnerOnly, ..ReplaceOptions::default() };
        replace_with(&self.file, &text, options)?;
        self.stored = self.wire.clone();
        Ok(())
    }

    /// Whether any hook of the file was ever approved.
    pub(super) fn knows(&self, hooks_file: &Path) -> bool {
        self.wire.approved.contains_key(hooks_file)
    }

    /// Whether this hook of the file was approved.
    pub(super) fn holds(&self, hooks_file: &Path, fingerprint: &str) -> bool {
        self.wire.approved.get(hooks_file).is_some_and(|known| known.contains(fingerprint))
    }
}
