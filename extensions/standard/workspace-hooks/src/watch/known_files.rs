//! The files that are there, each with a print of its content, so that a lost notice can be made up for.
//!
//! Pure.

use super::file_fingerprint::FileFingerprint;
use std::collections::{BTreeMap, HashMap};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Every folder that is looked at, and the files in it. Paths are relative to the workspace.
#[derive(Default)]
pub(super) struct KnownFiles {
    folders: BTreeMap<PathBuf, HashMap<Box<OsStr>, FileFingerprint>>,
}

impl KnownFiles {
    pub(super) fn get(&self, path: &Path) -> Option<FileFingerprint> {
        self.folders.get(parent(path))?.get(path.file_name()?).copied()
    }

    pub(super) fn put(&mut self, path: &Path, print: FileFingerprint) {
        if let Some(name) = path.file_name() {
            let folder = self.folders.entry(parent(path).to_owned()).or_default();
            folder.insert(name.into(), print);
        }
    }

    pub(super) fn take(&mut self, path: &Path) -> Option<FileFingerprint> {
        self.folders.get_mut(parent(path))?.remove(path.file_name()?)
    }

    pub(super) fn add_folder(&mut self, path: &Path) {
        self.folders.entry(path.to_owned()).or_default();
    }

    pub(super) fn has_folder(&self, path: &Path) -> bool {
        self.folders.contains_key(path)
    }

    /// Forgets a folder and those below it, where no file is known; files are forgotten one by one, as they are judged.
    pub(super) fn drop_empty_below(&mut self, path: &Path) {
        for folder in self.folders_below(path) {
            if self.folders.get(&folder).is_some_and(HashMap::is_empty) {
                self.folders.remove(&folder);
            }
        }
    }

    /// A folder and those below it.
    pub(super) fn folders_below(&self, path: &Path) -> Vec<PathBuf> {
        self.below(path).map(|(folder, _)| folder.clone()).collect()
    }

    pub(super) fn folders(&self) -> impl Iterator<Item = &Path> {
        self.folders.keys().map(PathBuf::as_path)
    }

    /// The files directly in a folder.
    pub(super) fn files_in(&self, folder: &Path) -> Vec<PathBuf> {
        let files = self.folders.get(folder).into_iter().flatten();
        files.map(|(name, _)| folder.join(&**name)).collect()
    }

    /// The files in a folder and below it.
    pub(super) fn files_below(&self, path: &Path) -> Vec<PathBuf> {
        self.below(path).flat_map(|(folder, files)| files.keys().map(|name| folder.join(&**name))).collect()
    }

    fn below(&self, path: &Path) -> impl Iterator<Item = (&PathBuf, &HashMap<Box<OsStr>, FileFingerprint>)> {
        // Paths are ordered by their parts, so what is below a folder follows it without a gap.
        self.folders.range(path.to_owned()..).take_while(move |(folder, _)| folder.starts_with(path))
    }
}

fn parent(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new(""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(mut found: Vec<PathBuf>) -> Vec<String> {
        found.sort();
        found.iter().map(|path| path.display().to_string()).collect()
    }

    #[test]
    fn files_are_found_by_name_and_by_folder() {
        let mut known = KnownFiles::default();
        for (number, path) in ["top", "a/x", "a/b/y", "a-b/z"].iter().enumerate() {
            known.put(Path::new(path), FileFingerprint::from_number(number as u64));
        }
        known.add_folder(Path::new("empty"));
        assert_eq!(known.get(Path::new("a/b/y")), Some(FileFingerprint::from_number(2)));
        assert_eq!(known.get(Path::new("a")), None);
        assert_eq!(paths(known.files_below(Path::new("a"))), ["a/b/y", "a/x"]);
        assert_eq!(paths(known.files_in(Path::new("a"))), ["a/x"]);
        assert_eq!(paths(known.files_below(Path::new(""))).len(), 4);
        assert!(known.has_folder(Path::new("empty")) && !known.has_folder(Path::new("top")));
        assert_eq!(known.take(Path::new("a/x")), Some(FileFingerprint::from_number(1)));
        assert_eq!(known.take(Path::new("a/x")), None);
        known.drop_empty_below(Path::new("a"));
        assert!(!known.has_folder(Path::new("a")) && known.has_folder(Path::new("a/b")));
        assert!(known.has_folder(Path::new("a-b")));
    }
}
