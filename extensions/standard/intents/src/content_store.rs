//! Stores the contents of files before and after a change by hash, so that later queries can compare them.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use dispatch_os::Access;
use dispatch_os::files::{self, ReplaceOptions, read_at_most};
use dispatch_redact::Redactor;
use dispatch_redact::credential_path::is_credential;
use sha2::{Digest, Sha256};

use crate::hash::{content_hash, spell};
use crate::layout::OrchestrationLayout;

/// A larger content is hashed and not stored.
pub(crate) const MAX_STORED_BYTES: u64 = 1024 * 1024;
/// The most bytes of all stored contents together.
pub(crate) const MAX_TOTAL_BYTES: u64 = 256 * 1024 * 1024;
/// A larger file is not hashed: that would take longer than the budget of an event.
pub(crate) const MAX_HASHED_BYTES: u64 = 256 * 1024 * 1024;

const READ_BYTES: usize = 256 * 1024;

/// A file at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ObservedFile {
    /// The hash of its content; `None` if the file does not exist or could not be read.
    pub hash: Option<String>,
    /// Its content, if small enough.
    pub bytes: Option<Vec<u8>>,
    /// Why an existing file has no hash.
    pub problem: Option<String>,
}

impl ObservedFile {
    pub(crate) fn of_bytes(bytes: Vec<u8>) -> Self {
        Self { hash: Some(content_hash(&bytes)), bytes: Some(bytes), problem: None }
    }

    fn unknown(problem: impl ToString) -> Self {
        Self { hash: None, bytes: None, problem: Some(problem.to_string()) }
    }
}

/// Reads a path without following it: the content of a link is its target, as in git; folders and devices have none.
#[must_use]
pub(crate) fn observe(path: &Path) -> ObservedFile {
    let metadata = match files::symlink_metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if is_absent(&error) => return ObservedFile::default(),
        Err(error) => return ObservedFile::unknown(error),
    };
    if metadata.is_symlink() {
        return match files::read_link(path) {
            Ok(target) => ObservedFile::of_bytes(target.to_string_lossy().into_owned().into_bytes()),
            Err(error) => ObservedFile::unknown(error),
        };
    }
    if !metadata.is_file() {
        return ObservedFile::default();
    }
    if metadata.len() > MAX_HASHED_BYTES {
        return ObservedFile::unknown(format!("larger than {MAX_HASHED_BYTES} bytes"));
    }
    if metadata.len() <= MAX_STORED_BYTES {
        match read_at_most(path, MAX_STORED_BYTES) {
            Ok(bytes) => return ObservedFile::of_bytes(bytes),
            Err(error) if error.is_not_found() => return ObservedFile::default(),
            Err(_) => {}
        }
    }
    match file_hash(path) {
        Ok(hash) => ObservedFile { hash, bytes: None, problem: None },
        Err(error) => ObservedFile::unknown(error),
    }
}

/// The hash of a file as it is now; `None` if the file does not exist.
///
/// # Errors
/// When the file exists and cannot be read.
pub(crate) fn file_hash(path: &Path) -> io::Result<Option<String>> {
    let mut file = match files::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; READ_BYTES];
    loop {
        let count = match file.read(&mut buffer) {
            Ok(0) => return Ok(Some(spell(&hasher.finalize()))),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        hasher.update(buffer.get(..count).unwrap_or_default());
    }
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Stores the content of a file, unless it is stored already or the file is one that holds secrets. Only later queries
/// miss a content that could not be stored, so a failure is ignored.
pub(crate) fn store(layout: &OrchestrationLayout, path: &str, observed: &ObservedFile) {
    if is_credential(path) {
        return;
    }
    let (Some(hash), Some(bytes)) = (&observed.hash, &observed.bytes) else {
        return;
    };
    let path = layout.content_file(hash);
    if bytes.len() as u64 > MAX_STORED_BYTES || files::exists(&path) || has_secret(bytes) {
        return;
    }
    let folders = [path.parent().and_then(Path::parent), path.parent()];
    if folders.into_iter().flatten().all(|folder| files::is_dir(folder) || files::create_dir_owner_only(folder).is_ok())
    {
        let options = ReplaceOptions { access: Access::OwnerOnly, ..ReplaceOptions::default() };
        let _ = files::replace_with(&path, bytes, options);
    }
}

/// Removes the oldest contents until all of them together fit. Later queries then know their lines by hash alone.
pub(crate) fn remove_oldest(layout: &OrchestrationLayout, max_bytes: u64) {
    let folders = files::read_dir(layout.contents_folder()).into_iter().flatten().flatten();
    let stored = folders.flat_map(|folder| files::read_dir(folder.path()).into_iter().flatten().flatten());
    let mut found: Vec<(_, u64, PathBuf)> = stored
        .filter_map(|file| {
            let metadata = file.metadata().ok().filter(|metadata| metadata.is_file())?;
            Some((metadata.modified().ok()?, metadata.len(), file.path()))
        })
        .collect();
    let mut total: u64 = found.iter().map(|(_, bytes, _)| bytes).sum();
    found.sort();
    for (_, bytes, path) in found {
        if total <= max_bytes {
            return;
        }
        if files::remove_file(&path).is_ok() {
            total -= bytes;
        }
    }
}

/// Whether a content has something that must not be copied; its lines are then known by their hashes alone.
fn has_secret(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    Redactor::builtin().redact(&text) != text
}

/// A stored content, if it still matches its hash.
#[must_use]
pub(crate) fn load(layout: &OrchestrationLayout, hash: &str) -> Option<Vec<u8>> {
    let bytes = read_at_most(&layout.content_file(hash), MAX_STORED_BYTES).ok()?;
    (content_hash(&bytes) == hash).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};

    use super::*;

    const EMPTY: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    #[test]
    fn an_absent_file_has_none_and_an_empty_one_the_hash_of_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        assert_eq!(file_hash(&path).unwrap(), None);
        fs::write(&path, b"").unwrap();
        assert_eq!(file_hash(&path).unwrap().as_deref(), Some(EMPTY));
        let large = vec![7; READ_BYTES * 2 + 1];
        fs::write(&path, &large).unwrap();
        assert_eq!(file_hash(&path).unwrap(), Some(content_hash(&large)));
    }

    #[test]
    fn a_content_is_stored_once_and_used_only_if_it_matches_its_hash() {
        let folder = tempfile::tempdir().unwrap();
        let layout = OrchestrationLayout::new(folder.path());
        let path = folder.path().join("a");
        assert_eq!(observe(&path), ObservedFile::default());
        assert_eq!(observe(folder.path()), ObservedFile::default());
        fs::write(&path, "text").unwrap();
        let seen = observe(&path);
        store(&layout, "config/.env", &seen);
        store(&layout, "id_rsa", &seen);
        let hash = seen.hash.clone().unwrap();
        assert_eq!(load(&layout, &hash), None, "a file that holds secrets by its name");
        store(&layout, "a", &seen);
        assert_eq!(load(&layout, &hash).as_deref(), Some(b"text".as_slice()));
        fs::write(layout.content_file(&hash), "forged").unwrap();
        assert_eq!(load(&layout, &hash), None);
    }

    #[test]
    fn the_oldest_contents_go_when_there_are_too_many_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let layout = OrchestrationLayout::new(folder.path());
        let texts: Vec<Vec<u8>> = (0..4_u8).map(|number| vec![number; 100]).collect();
        for (age, text) in texts.iter().enumerate() {
            let seen = ObservedFile::of_bytes(text.clone());
            store(&layout, "a", &seen);
            let file = File::options().write(true).open(layout.content_file(&seen.hash.unwrap())).unwrap();
            let time = std::time::SystemTime::now() - std::time::Duration::from_secs(1000 - age as u64);
            file.set_modified(time).unwrap();
        }
        remove_oldest(&layout, 250);
        let left = texts.iter().map(|text| load(&layout, &content_hash(text)).is_some()).collect::<Vec<_>>();
        assert_eq!(left, [false, false, true, true]);
    }

    #[test]
    fn a_large_file_is_hashed_and_not_stored() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, vec![7; usize::try_from(MAX_STORED_BYTES).unwrap() + 1]).unwrap();
        let seen = observe(&path);
        assert!(seen.hash.is_some() && seen.bytes.is_none());
        let huge = File::create(folder.path().join("b")).unwrap();
        huge.set_len(MAX_HASHED_BYTES + 1).unwrap();
        assert!(observe(&folder.path().join("b")).problem.is_some());
    }

    #[cfg(unix)]
    #[test]
    fn a_link_counts_as_its_text_even_when_it_leads_nowhere() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("link");
        std::os::unix::fs::symlink("nowhere", &path).unwrap();
        assert_eq!(observe(&path).bytes.as_deref(), Some(b"nowhere".as_slice()));
    }
}
