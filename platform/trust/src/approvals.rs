//! The approvals of one user, and the file they are kept in.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use dispatch_os::files::{ReplaceOptions, create_dir_owner_only, read_at_most, replace_with};
use dispatch_os::{Access, Durability, OsError};
use serde::{Deserialize, Serialize};

use crate::fingerprint::fingerprint;

/// The largest file that can be approved.
pub const CONTENT_LIMIT_BYTES: u64 = 16 * 1024 * 1024;
/// The largest file of approvals: about forty thousand of them.
const TRUST_LIMIT_BYTES: u64 = 8 * 1024 * 1024;

/// Why approvals could not be read or kept.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// The file cannot be parsed. Nothing in it counts as approved.
    #[error("{} is damaged, so nothing is approved: {source}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        #[source]
        source: serde_json::Error,
    },
    /// A path is not valid Unicode.
    #[error("{} is not valid Unicode, so it cannot be approved", path.display())]
    PathNotText {
        /// The path.
        path: PathBuf,
    },
    /// The system refused.
    #[error(transparent)]
    Os(#[from] OsError),
}

impl TrustError {
    /// What the user can do about it.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Damaged { .. } => Some("delete the file and approve again with `dispatch trust`"),
            Self::PathNotText { .. } => Some("rename the file"),
            Self::Os(error) => error.hint(),
        }
    }
}

/// Approved content by path.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trust {
    /// Absolute path to SHA-256 in hex.
    approved: BTreeMap<PathBuf, String>,
}

/// Whether a file's present content is approved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Approval {
    /// The user approved exactly this content.
    Approved,
    /// The user approved other content of this file.
    Changed,
    /// The user approved no content of this file.
    Unknown,
}

impl Trust {
    /// The approvals in a file; empty when the file is missing.
    ///
    /// # Errors
    /// When the file is damaged or cannot be read.
    pub fn read(file: &Path) -> Result<Self, TrustError> {
        match read_at_most(file, TRUST_LIMIT_BYTES) {
            Ok(bytes) => serde_json::from_slice(&bytes)
                .map_err(|source| TrustError::Damaged { path: file.to_path_buf(), source }),
            Err(error) if error.is_not_found() => Ok(Self::default()),
            Err(error) => Err(error.into()),
        }
    }

    /// The approvals in a file; empty when it cannot be read, for whatever reason.
    #[must_use]
    pub fn load(file: &Path) -> Self {
        Self::read(file).unwrap_or_default()
    }

    /// Keeps the approvals, for the owner alone.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn write(&self, file: &Path) -> Result<(), TrustError> {
        if let Some(folder) = file.parent() {
            create_dir_owner_only(folder)?;
        }
        let mut text = serde_json::to_vec_pretty(self)
            .map_err(|source| TrustError::Damaged { path: file.to_path_buf(), source })?;
        text.push(b'\n');
        let options =
            ReplaceOptions { durability: Durability::Content, access: Access::OwnerOnly, ..ReplaceOptions::default() };
        Ok(replace_with(file, &text, options)?)
    }

    /// Whether this content is approved for this path.
    #[must_use]
    pub fn approval(&self, path: &Path, content: &[u8]) -> Approval {
        match self.approved.get(path) {
            Some(hash) if *hash == fingerprint(content) => Approval::Approved,
            Some(_) => Approval::Changed,
            None => Approval::Unknown,
        }
    }

    /// Whether this content is approved, wherever it is: a second clone of a project runs what the first one may.
    #[must_use]
    pub fn is_approved(&self, content: &[u8]) -> bool {
        !self.approved.is_empty() && self.is_approved_fingerprint(&fingerprint(content))
    }

    /// The same for content whose [`fingerprint`] the caller has taken already.
    #[must_use]
    pub fn is_approved_fingerprint(&self, wanted: &str) -> bool {
        self.approved.values().any(|hash| hash == wanted)
    }

    /// Approves the content of a path, in place of what was approved there before.
    ///
    /// # Errors
    /// When the path is not text.
    pub fn approve(&mut self, path: PathBuf, content: &[u8]) -> Result<(), TrustError> {
        if path.to_str().is_none() {
            return Err(TrustError::PathNotText { path });
        }
        self.approved.insert(path, fingerprint(content));
        Ok(())
    }

    /// Revokes an approval; `false` when there was none.
    pub fn revoke(&mut self, path: &Path) -> bool {
        self.approved.remove(path).is_some()
    }

    /// Paths and hashes, in path order.
    pub fn iter(&self) -> impl Iterator<Item = (&Path, &str)> {
        self.approved.iter().map(|(path, hash)| (path.as_path(), hash.as_str()))
    }
}

/// Reads a file that may be approved.
///
/// # Errors
/// When it cannot be read or is too large.
pub fn read_content(path: &Path) -> Result<Vec<u8>, TrustError> {
    Ok(read_at_most(path, CONTENT_LIMIT_BYTES)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn approval_is_of_content_not_of_a_path() {
        let mut trust = Trust::default();
        let path = Path::new("/project/.dispatch/dispatch.toml");
        assert_eq!(trust.approval(path, b"one"), Approval::Unknown);
        trust.approve(path.to_owned(), b"one").expect("a path that is text");
        assert_eq!(trust.approval(path, b"one"), Approval::Approved);
        assert_eq!(trust.approval(path, b"two"), Approval::Changed);
        assert!(trust.is_approved(b"one") && !trust.is_approved(b"one ") && !trust.is_approved(b""));
        trust.approve(path.to_owned(), b"two").expect("a path that is text");
        assert!(!trust.is_approved(b"one"), "the previous content of a file is no longer approved");
        assert!(trust.revoke(path) && !trust.revoke(path));
        assert!(!trust.is_approved(b"two"));
    }

    #[test]
    fn approvals_outlive_the_process() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("data/trust.json");
        assert_eq!(Trust::read(&file).expect("a missing file is not an error"), Trust::default());
        let mut trust = Trust::default();
        trust.approve("/p/hook.mjs".into(), b"x").expect("a path that is text");
        trust.write(&file).expect("writable");
        assert_eq!(Trust::read(&file).expect("readable"), trust);
        assert_eq!(trust.iter().count(), 1);
    }

    #[test]
    fn a_damaged_file_approves_nothing_and_says_so() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("trust.json");
        for bytes in [&b""[..], b"[]", b"{", b"{\"approved\": [1]}", b"{\"approved\": {\"/a\": 1}}", b"\xff"] {
            std::fs::write(&file, bytes).expect("writable");
            let error = Trust::read(&file).expect_err("damaged");
            assert!(error.hint().is_some_and(|hint| hint.starts_with("delete")), "{error}");
            assert_eq!(Trust::load(&file), Trust::default());
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_path_that_is_not_unicode_is_refused_and_the_rest_stays() {
        use std::os::unix::ffi::OsStringExt as _;
        let path = PathBuf::from(std::ffi::OsString::from_vec(b"/a/\xff".to_vec()));
        let mut trust = Trust::default();
        assert!(matches!(trust.approve(path, b"x"), Err(TrustError::PathNotText { .. })));
        assert_eq!(trust, Trust::default());
    }
}
