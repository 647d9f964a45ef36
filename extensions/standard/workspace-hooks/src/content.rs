//! What a file holds, in one word that is equal whenever the content is.

use crate::contract::ContentHash;
use dispatch_os::digest::hex;
use dispatch_os::files::{self, Stamp};
use sha2::{Digest, Sha256};
use std::io::{self, Read};
use std::path::Path;

/// A larger file is known by its size and its time alone: reading it at each save would cost more than it tells.
pub(crate) const WHOLE_BYTES: u64 = 64 * 1024 * 1024;
const BLOCK_BYTES: usize = 64 * 1024;

/// SHA-256 of a file's content, in hex; of its size and time for one of more than 64 MiB. `None` for what is gone,
/// unreadable, or no plain file. A link is not followed.
#[must_use]
pub(crate) fn content_hash(path: &Path) -> Option<ContentHash> {
    let found = files::symlink_metadata(path).ok().filter(files::Metadata::is_file)?;
    if found.len() > WHOLE_BYTES {
        let stamp = Stamp::of(&found);
        return Some(hex(Sha256::digest(format!("{} bytes at {}", stamp.size, stamp.modified_ns))));
    }
    let mut content = files::open(path).ok()?.take(WHOLE_BYTES);
    digest(&mut content).ok()
}

fn digest(content: &mut impl Read) -> io::Result<ContentHash> {
    let mut hasher = Sha256::new();
    let mut block = vec![0; BLOCK_BYTES];
    loop {
        match content.read(&mut block) {
            Ok(0) => return Ok(hex(hasher.finalize())),
            Ok(count) => hasher.update(block.get(..count).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_files_have_a_hash_and_nothing_else_has() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a");
        std::fs::write(&file, "abc").unwrap();
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(content_hash(&file).as_deref(), Some(abc));
        assert_eq!(content_hash(folder.path()), None);
        assert_eq!(content_hash(&folder.path().join("gone")), None);
        #[cfg(unix)]
        {
            let link = folder.path().join("link");
            std::os::unix::fs::symlink(&file, &link).unwrap();
            assert_eq!(content_hash(&link), None);
        }
    }

    #[test]
    fn a_huge_file_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("huge");
        let file = std::fs::File::create(&path).unwrap();
        file.set_len(WHOLE_BYTES + 1).unwrap();
        let first = content_hash(&path);
        assert!(first.is_some());
        assert_eq!(content_hash(&path), first);
        file.set_len(WHOLE_BYTES + 2).unwrap();
        assert_ne!(content_hash(&path), first);
    }
}
