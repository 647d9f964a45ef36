//! Reads the files of the repository: what git tracks or would track, else everything on disk.

use super::{SourceFile, SourceTree};
use anyhow::{Context as _, Result};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

const TEXT_EXTENSIONS: &[&str] = &["js", "json", "md", "mjs", "rs", "sh", "toml", "ts", "tsx", "yaml", "yml"];
const TEXT_FILES: &[&str] =
    &[".ci/run", "kernel/contracts/surface.txt", "xtask/os-touches.txt", "xtask/test-doubles.txt"];
const SKIPPED_FOLDERS: &[&str] = &[".git", "node_modules", "target", "testdata"];

/// Files above this size are data, not something a person wrote.
const MAX_FILE_BYTES: u64 = 4 * 1024 * 1024;

/// Folders deeper than this are not walked; the repository is nowhere near it.
const MAX_DEPTH: usize = 32;

/// Loads every text file under `root`.
pub(crate) fn load(root: &Path) -> Result<SourceTree> {
    let paths = match git_paths(root) {
        Some(paths) => paths,
        None => walked_paths(root)?,
    };
    let mut tree = SourceTree::default();
    for path in paths.into_iter().filter(|path| is_wanted(path)) {
        let full = root.join(&path);
        // A tracked file may be deleted in the work tree, and a link is checked where it points.
        let Ok(metadata) = full.symlink_metadata() else { continue };
        if !metadata.is_file() || metadata.len() > MAX_FILE_BYTES {
            continue;
        }
        let bytes = std::fs::read(&full).with_context(|| format!("cannot read {path}"))?;
        match String::from_utf8(bytes) {
            Ok(text) => tree.files.push(SourceFile::new(path, text)),
            Err(_) => tree.not_utf8.push(path),
        }
    }
    Ok(tree)
}

fn is_wanted(path: &str) -> bool {
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    let skipped = folders.split('/').any(|part| SKIPPED_FOLDERS.contains(&part));
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    !skipped && (TEXT_EXTENSIONS.contains(&extension) || TEXT_FILES.contains(&path))
}

// `None` when the root is not the top of a git work tree, or git is missing or refuses.
fn git_paths(root: &Path) -> Option<BTreeSet<String>> {
    if !root.join(".git").exists() {
        return None;
    }
    let output = git(root)
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .output()
        .ok()
        .filter(|output| output.status.success())?;
    let listing = String::from_utf8_lossy(&output.stdout);
    Some(listing.split('\0').filter(|path| !path.is_empty()).map(str::to_owned).collect())
}

// A git hook sets variables that would point at another repository than `root`.
fn git(root: &Path) -> Command {
    let mut command = Command::new("git");
    command.current_dir(root);
    for variable in ["GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE"] {
        command.env_remove(variable);
    }
    command
}

fn walked_paths(root: &Path) -> Result<BTreeSet<String>> {
    let mut paths = BTreeSet::new();
    let mut folders = vec![(PathBuf::new(), 0)];
    while let Some((folder, depth)) = folders.pop() {
        let full = root.join(&folder);
        let entries = std::fs::read_dir(&full).with_context(|| format!("cannot list {}", full.display()))?;
        for entry in entries {
            let entry = entry?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            let path = folder.join(&name);
            let kind = entry.file_type()?;
            if kind.is_file() {
                paths.insert(slashed(&path));
            } else if kind.is_dir() && depth < MAX_DEPTH && !SKIPPED_FOLDERS.contains(&name.as_str()) {
                folders.push((path, depth + 1));
            }
        }
    }
    Ok(paths)
}

fn slashed(path: &Path) -> String {
    path.to_string_lossy().replace('\\', "/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(root: &Path, path: &str, bytes: &[u8]) {
        let full = root.join(path);
        std::fs::create_dir_all(full.parent().unwrap()).unwrap();
        std::fs::write(full, bytes).unwrap();
    }

    fn paths(root: &Path) -> Vec<String> {
        load(root).unwrap().files.into_iter().map(|file| file.path).collect()
    }

    fn planted() -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for path in [
            "a/src/lib.rs",
            "a/target/x.rs",
            "a/testdata/x.md",
            "node_modules/x.json",
            "logo.png",
            ".ci/run",
            "ignored/x.md",
        ] {
            write(root.path(), path, b"text\n");
        }
        write(root.path(), "latin.md", &[0x63, 0xe9, 0x0a]);
        write(root.path(), ".gitignore", b"/ignored\n");
        root
    }

    #[test]
    fn without_git_walks_all_but_the_skipped_folders() {
        let root = planted();
        assert_eq!(paths(root.path()), [".ci/run", "a/src/lib.rs", "ignored/x.md"]);
        assert_eq!(load(root.path()).unwrap().not_utf8, ["latin.md"]);
    }

    #[test]
    fn with_git_leaves_out_what_is_ignored_and_what_is_deleted() {
        let root = planted();
        write(root.path(), "gone.md", b"text\n");
        for arguments in [&["init", "-q"][..], &["add", "gone.md"]] {
            let status = git(root.path()).args(arguments).status();
            assert!(status.unwrap().success());
        }
        std::fs::remove_file(root.path().join("gone.md")).unwrap();
        assert_eq!(paths(root.path()), [".ci/run", "a/src/lib.rs"]);
    }
}
