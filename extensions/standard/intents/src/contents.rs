//! Files as they were before and after a change, kept by hash so that later questions can be answered.

use std::fs;
use std::io;
use std::path::Path;

use dispatch_os::files::{self, read_at_most};

use crate::hash::{content_hash, file_hash};
use crate::layout::Layout;

/// A larger content is hashed and not kept.
pub const MAX_KEPT_BYTES: u64 = 1024 * 1024;
/// A larger file is not even hashed: that would take longer than an event may.
pub const MAX_HASHED_BYTES: u64 = 256 * 1024 * 1024;

/// A file at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Look {
    /// The hash of its content; `None` if there is no file or it could not be told.
    pub hash: Option<String>,
    /// Its content, if small enough.
    pub bytes: Option<Vec<u8>>,
    /// Why there is no hash although there is a file.
    pub problem: Option<String>,
}

impl Look {
    pub(crate) fn of_bytes(bytes: Vec<u8>) -> Self {
        Self { hash: Some(content_hash(&bytes)), bytes: Some(bytes), problem: None }
    }

    fn unknown(problem: impl ToString) -> Self {
        Self { hash: None, bytes: None, problem: Some(problem.to_string()) }
    }
}

/// Looks at a path itself. Of a link, its text counts as content, as git sees it; folders and devices have none.
#[must_use]
pub fn look(path: &Path) -> Look {
    let metadata = match path.symlink_metadata() {
        Ok(metadata) => metadata,
        Err(error) if is_absent(&error) => return Look::default(),
        Err(error) => return Look::unknown(error),
    };
    if metadata.is_symlink() {
        return match fs::read_link(path) {
            Ok(target) => Look::of_bytes(target.to_string_lossy().into_owned().into_bytes()),
            Err(error) => Look::unknown(error),
        };
    }
    if !metadata.is_file() {
        return Look::default();
    }
    if metadata.len() > MAX_HASHED_BYTES {
        return Look::unknown("the file is too large to be hashed within an event");
    }
    if metadata.len() <= MAX_KEPT_BYTES {
        match read_at_most(path, MAX_KEPT_BYTES) {
            Ok(bytes) => return Look::of_bytes(bytes),
            Err(error) if error.is_not_found() => return Look::default(),
            Err(_) => {}
        }
    }
    match file_hash(path) {
        Ok(hash) => Look { hash, bytes: None, problem: None },
        Err(error) => Look::unknown(error),
    }
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Keeps the content of a look, unless it is kept already. What cannot be kept is missed by later
/// questions only, so a failure is not told.
pub(crate) fn keep(layout: &Layout, look: &Look) {
    let (Some(hash), Some(bytes)) = (&look.hash, &look.bytes) else {
        return;
    };
    let path = layout.content_file(hash);
    if bytes.len() as u64 > MAX_KEPT_BYTES || path.exists() {
        return;
    }
    if path.parent().is_some_and(|folder| fs::create_dir_all(folder).is_ok()) {
        let _ = files::replace(&path, bytes);
    }
}

/// A kept content, if it is still what its name says.
#[must_use]
pub fn kept(layout: &Layout, hash: &str) -> Option<Vec<u8>> {
    let bytes = read_at_most(&layout.content_file(hash), MAX_KEPT_BYTES).ok()?;
    (content_hash(&bytes) == hash).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_content_is_kept_once_and_believed_only_if_it_fits_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::new(folder.path());
        let path = folder.path().join("a");
        assert_eq!(look(&path), Look::default());
        assert_eq!(look(folder.path()), Look::default());
        fs::write(&path, "text").unwrap();
        let seen = look(&path);
        keep(&layout, &seen);
        let hash = seen.hash.unwrap();
        assert_eq!(kept(&layout, &hash).as_deref(), Some(b"text".as_slice()));
        fs::write(layout.content_file(&hash), "forged").unwrap();
        assert_eq!(kept(&layout, &hash), None);
    }

    #[test]
    fn a_large_file_is_hashed_and_not_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, vec![7; usize::try_from(MAX_KEPT_BYTES).unwrap() + 1]).unwrap();
        let seen = look(&path);
        assert!(seen.hash.is_some() && seen.bytes.is_none());
        let huge = fs::File::create(folder.path().join("b")).unwrap();
        huge.set_len(MAX_HASHED_BYTES + 1).unwrap();
        assert!(look(&folder.path().join("b")).problem.is_some());
    }

    #[cfg(unix)]
    #[test]
    fn a_link_counts_as_its_text_even_when_it_leads_nowhere() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("link");
        std::os::unix::fs::symlink("nowhere", &path).unwrap();
        assert_eq!(look(&path).bytes.as_deref(), Some(b"nowhere".as_slice()));
    }
}
