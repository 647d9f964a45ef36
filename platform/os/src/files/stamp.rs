//! What tells that a file was changed without reading it.

use std::fs::Metadata;
use std::time::UNIX_EPOCH;

/// Size, times and identity of a file. Two equal stamps of one path mean that it was not written in
/// between, unless a clock was set back; on Windows only size and time are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Stamp {
    /// Bytes.
    pub size: u64,
    /// When the content changed, in nanoseconds since 1970.
    pub modified_ns: i128,
    /// When the content or anything else about it changed; programs cannot set this one.
    pub changed_ns: i128,
    /// Which file it is.
    pub inode: u64,
    /// How many names the file has.
    pub links: u64,
}

impl Stamp {
    /// The stamp in what the system says of a file.
    #[must_use]
    pub fn of(metadata: &Metadata) -> Self {
        let modified = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let modified_ns = modified.and_then(|time| i128::try_from(time.as_nanos()).ok()).unwrap_or(0);
        let (changed_ns, inode, links) = identity(metadata);
        Self { size: metadata.len(), modified_ns, changed_ns, inode, links }
    }
}

#[cfg(unix)]
fn identity(metadata: &Metadata) -> (i128, u64, u64) {
    use std::os::unix::fs::MetadataExt;
    let changed_ns = i128::from(metadata.ctime()) * 1_000_000_000 + i128::from(metadata.ctime_nsec());
    (changed_ns, metadata.ino(), metadata.nlink())
}

#[cfg(not(unix))]
fn identity(_: &Metadata) -> (i128, u64, u64) {
    (0, 0, 1)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_second_name_and_another_content_are_seen() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, "one").unwrap();
        let first = Stamp::of(&path.symlink_metadata().unwrap());
        assert_eq!((first.size, first), (3, Stamp::of(&path.symlink_metadata().unwrap())));
        fs::write(&path, "longer").unwrap();
        assert_ne!(first, Stamp::of(&path.symlink_metadata().unwrap()));
        #[cfg(unix)]
        {
            fs::hard_link(&path, folder.path().join("b")).unwrap();
            assert_eq!(Stamp::of(&path.symlink_metadata().unwrap()).links, 2);
        }
    }
}
