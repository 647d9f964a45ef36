//! What the user has approved: the content of files that came with a project, by hash.

use crate::failure::Failure;
use dispatch_os::files::{Access, Durability, ReplaceOptions, read_at_most, replace_with};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The largest trust file and the largest file that can be approved.
const LIMIT_BYTES: u64 = 16 * 1024 * 1024;

/// Approved content by path.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Trust {
    /// Absolute path to SHA-256 in hex.
    approved: BTreeMap<PathBuf, String>,
}

/// Whether a file's present content is approved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Approval {
    /// The user approved exactly this content.
    Approved,
    /// The user approved other content of this file.
    Changed,
    /// The user never saw it.
    Unknown,
}

impl Trust {
    /// The approvals of this user; none when there is no file.
    pub(crate) fn read(file: &Path) -> Result<Self, Failure> {
        let bytes = match read_at_most(file, LIMIT_BYTES) {
            Ok(bytes) => bytes,
            Err(error) if error.is_not_found() => return Ok(Self::default()),
            Err(error) => return Err(error.into()),
        };
        serde_json::from_slice(&bytes).map_err(|error| {
            Failure::configuration(format!("{} cannot be read: {error}", file.display()))
                .hint("delete the file and approve again with `dispatch trust`")
        })
    }

    /// Keeps the approvals, for the owner alone.
    pub(crate) fn write(&self, file: &Path) -> Result<(), Failure> {
        if let Some(folder) = file.parent() {
            dispatch_os::files::create_dir_owner_only(folder)?;
        }
        let text = serde_json::to_vec_pretty(self).map_err(|error| Failure::internal(error.to_string()))?;
        let options =
            ReplaceOptions { durability: Durability::Content, access: Access::OwnerOnly, ..ReplaceOptions::default() };
        Ok(replace_with(file, &text, options)?)
    }

    /// Whether the content is approved for the path.
    pub(crate) fn approval(&self, path: &Path, content: &[u8]) -> Approval {
        match self.approved.get(path) {
            Some(hash) if *hash == fingerprint(content) => Approval::Approved,
            Some(_) => Approval::Changed,
            None => Approval::Unknown,
        }
    }

    /// Approves the content of a path.
    pub(crate) fn approve(&mut self, path: PathBuf, content: &[u8]) {
        self.approved.insert(path, fingerprint(content));
    }

    /// Takes an approval back; `false` when there was none.
    pub(crate) fn revoke(&mut self, path: &Path) -> bool {
        self.approved.remove(path).is_some()
    }

    /// Paths and hashes, in path order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Path, &str)> {
        self.approved.iter().map(|(path, hash)| (path.as_path(), hash.as_str()))
    }
}

/// SHA-256 in hex.
pub(crate) fn fingerprint(content: &[u8]) -> String {
    Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Reads a file that may be approved.
pub(crate) fn read_content(path: &Path) -> Result<Vec<u8>, Failure> {
    Ok(read_at_most(path, LIMIT_BYTES)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn approval_is_of_content_not_of_a_path() {
        let mut trust = Trust::default();
        let path = Path::new("/project/.dispatch/dispatch.toml");
        assert_eq!(trust.approval(path, b"one"), Approval::Unknown);
        trust.approve(path.to_owned(), b"one");
        assert_eq!(trust.approval(path, b"one"), Approval::Approved);
        assert_eq!(trust.approval(path, b"two"), Approval::Changed);
        assert!(trust.revoke(path) && !trust.revoke(path));
    }

    #[test]
    fn a_damaged_file_is_an_error_and_not_an_approval() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("trust.json");
        std::fs::write(&file, "{").unwrap();
        assert!(Trust::read(&file).is_err());
    }
}
