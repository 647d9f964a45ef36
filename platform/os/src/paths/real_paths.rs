//! Where many paths really lead, with one question to the disk for each folder and file.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use super::inside::{absolute, does_not_exist, resolve};

/// Folders that are remembered; beyond that each is asked about again.
const MAX_KNOWN: usize = 4096;
/// Deeper paths are resolved without remembering anything.
const MAX_PARTS: usize = 128;

/// Follows links, and remembers where folders led. The answers are true for the moment of the first question.
#[derive(Debug, Default)]
pub struct RealPaths {
    /// By text: paths are compared part by part, which takes ten times as long.
    known: RefCell<BTreeMap<OsString, RealPath>>,
}

#[derive(Debug, Clone)]
struct RealPath {
    path: PathBuf,
    /// Nothing lies below what is not there, so nothing needs to be asked about it.
    exists: bool,
}

impl RealPaths {
    /// The absolute path with every symbolic link of its existing part followed, as [`super::resolve_inside`] does; the
    /// path itself where that cannot be told. A relative path starts at `root`.
    pub fn real_path(&self, root: &Path, path: &Path) -> PathBuf {
        let Ok(asked) = absolute(root).and_then(|root| absolute(&root.join(path))) else {
            return path.to_path_buf();
        };
        let plain = asked.components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
        if plain && asked.components().count() <= MAX_PARTS {
            self.follow(&asked).map(|real| real.path)
        } else {
            resolve(&asked).ok()
        }
        .unwrap_or_else(|| path.to_path_buf())
    }

    fn follow(&self, path: &Path) -> Option<RealPath> {
        if let Some(known) = self.known.borrow().get(path.as_os_str()) {
            return Some(known.clone());
        }
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Some(RealPath { path: path.to_path_buf(), exists: true });
        };
        let parent = self.follow(parent)?;
        let next = parent.path.join(name);
        let real = if parent.exists {
            match next.symlink_metadata() {
                Ok(found) if found.is_symlink() => {
                    let real = resolve(path).ok()?;
                    RealPath { exists: real.symlink_metadata().is_ok(), path: real }
                }
                Ok(_) => RealPath { path: next, exists: true },
                Err(error) if does_not_exist(&error) => RealPath { path: next, exists: false },
                Err(_) => return None,
            }
        } else {
            RealPath { path: next, exists: false }
        };
        let mut known = self.known.borrow_mut();
        if known.len() < MAX_KNOWN {
            known.insert(path.as_os_str().to_owned(), real.clone());
        }
        Some(real)
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use crate::paths::resolve_inside;
    use std::os::unix::fs::symlink;

    #[test]
    fn it_says_what_following_each_path_alone_says() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("root");
        std::fs::create_dir_all(root.join("a/b")).unwrap();
        std::fs::write(root.join("a/file"), "").unwrap();
        symlink("a/b", root.join("short")).unwrap();
        symlink("../../outside", root.join("a/b/out")).unwrap();
        symlink("missing/further", root.join("dangling")).unwrap();
        symlink("round", root.join("around")).unwrap();
        symlink("around", root.join("round")).unwrap();
        let real = RealPaths::default();
        for path in [
            "a/file",
            "a/b/new",
            "a/b/new/deeper/still",
            "short/x",
            "short/out/y",
            "a/b/out",
            "dangling",
            "dangling/z",
            "a/file/below",
            "a/../a/./file",
            "round",
            "round/x",
            "/",
            "/tmp",
            "",
        ] {
            let path = Path::new(path);
            let alone = resolve_inside(&root, path).map_or_else(|_| path.to_path_buf(), |found| found.path);
            assert_eq!(real.real_path(&root, path), alone, "{}", path.display());
            assert_eq!(real.real_path(&root, path), alone, "{} again", path.display());
        }
    }
}
