//! The fingerprints of the hooks that the user approved, so that a change to one hook of a file leaves the others be.

use super::real_file;
use dispatch_os::files::{ReplaceOptions, create_dir_owner_only, read_at_most, replace_with};
use dispatch_os::{Access, Durability};
use dispatch_trust::TrustError;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The file, beside the one of approved contents.
pub const APPROVALS_FILE: &str = "hook-approvals.json";
/// The largest one; some hundred thousand hooks.
const LIMIT_BYTES: u64 = 8 * 1024 * 1024;

/// The approved hooks of each file of hooks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approvals {
    /// File of hooks, absolute and without links, to fingerprints.
    approved: BTreeMap<PathBuf, BTreeSet<String>>,
}

impl Approvals {
    /// What a file says; nothing if it cannot be read, for whatever reason.
    #[must_use]
    pub fn load(file: &Path) -> Self {
        let bytes = read_at_most(file, LIMIT_BYTES).unwrap_or_default();
        serde_json::from_slice(&bytes).unwrap_or_default()
    }

    /// Keeps it, for the owner alone.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn write(&self, file: &Path) -> Result<(), TrustError> {
        if let Some(folder) = file.parent() {
            create_dir_owner_only(folder)?;
        }
        let text = serde_json::to_vec_pretty(self)
            .map_err(|source| TrustError::Damaged { path: file.to_path_buf(), source })?;
        let options =
            ReplaceOptions { durability: Durability::Content, access: Access::OwnerOnly, ..ReplaceOptions::default() };
        Ok(replace_with(file, &text, options)?)
    }

    /// Remembers the hooks of a file, in place of those before. A path that is not text cannot be remembered.
    pub fn remember(&mut self, hooks_file: &Path, fingerprints: BTreeSet<String>) {
        let file = real_file(hooks_file);
        if file.to_str().is_some() {
            self.approved.insert(file, fingerprints);
        }
    }

    /// Forgets the hooks of a file.
    pub fn forget(&mut self, hooks_file: &Path) {
        self.approved.remove(&real_file(hooks_file));
    }

    /// Whether any hook of the file was ever approved.
    pub(crate) fn knows(&self, hooks_file: &Path) -> bool {
        self.approved.contains_key(hooks_file)
    }

    /// Whether this hook of the file was approved.
    pub(crate) fn holds(&self, hooks_file: &Path, fingerprint: &str) -> bool {
        self.approved.get(hooks_file).is_some_and(|known| known.contains(fingerprint))
    }
}
