//! What tells one content of a file from another without reading it.
//!
//! Pure.

use std::hash::{DefaultHasher, Hash, Hasher};

/// Size, time and identity of a file, in eight bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileFingerprint(u64);

impl FileFingerprint {
    /// That of a file whose content is unknown.
    pub(super) const UNKNOWN: Self = Self(0);

    pub(super) fn of(size_time_identity: impl Hash) -> Self {
        let mut hasher = DefaultHasher::new();
        size_time_identity.hash(&mut hasher);
        Self(hasher.finish())
    }

    #[cfg(test)]
    pub(super) const fn from_number(number: u64) -> Self {
        Self(number)
    }
}
