//! The approved files of a program on disk, apart from the folder they were read from: what runs is what was approved,
//! also if a file there is changed while the program runs.

use crate::folder::ExtensionFolder;
use dispatch_os::digest::{hex, sha256};
use dispatch_os::files;
use dispatch_os::ids::hex_id;
use std::io;
use std::path::{Path, PathBuf};

/// Below the folder for what survives a restart, which no tool reaches.
const COPIES: &str = "extension-programs";
/// Letters that tell two copies apart that are being made.
const ID_LETTERS: usize = 12;

/// The folder with the approved files; made if it is not there or not the same.
///
/// # Errors
/// When it cannot be written.
pub(crate) fn approved_copy(folder: &ExtensionFolder, state: &Path, id: &str) -> Result<PathBuf, String> {
    let parent = state.join(COPIES).join(id);
    let copy = parent.join(hex(sha256(&folder.content())));
    make(folder, &parent, &copy).map_err(|error| format!("cannot write {}: {error}", copy.display()))?;
    Ok(copy)
}

fn make(folder: &ExtensionFolder, parent: &Path, copy: &Path) -> io::Result<()> {
    if !is_same(folder, copy) {
        files::create_dir_all(parent)?;
        let new = parent.join(format!("new-{}", hex_id(ID_LETTERS)));
        files::create_dir_owner_only(&new).map_err(io::Error::other)?;
        let written = write(folder, &new).and_then(|()| put_in_place(&new, copy));
        if written.is_err() {
            // What is left of it is nobody's.
            let _ = files::remove_dir_all(&new);
        }
        // Another process may have been faster with the same files.
        if !is_same(folder, copy) {
            written?;
        }
    }
    for name in folder.names() {
        // Who may execute a file is no part of its content; a file that is gone keeps what it had.
        if let Ok(metadata) = files::metadata(folder.path().join(name)) {
            files::set_permissions(copy.join(name), metadata.permissions())?;
        }
    }
    Ok(())
}

fn write(folder: &ExtensionFolder, new: &Path) -> io::Result<()> {
    for name in folder.names() {
        let path = new.join(name);
        files::create_dir_all(path.parent().unwrap_or(new))?;
        files::write(&path, folder.bytes(name).unwrap_or_default())?;
    }
    Ok(())
}

fn put_in_place(new: &Path, copy: &Path) -> io::Result<()> {
    if files::exists(copy) {
        files::remove_dir_all(copy)?;
    }
    files::rename(new, copy)
}

fn is_same(folder: &ExtensionFolder, copy: &Path) -> bool {
    folder.names().all(|name| {
        let expected = folder.bytes(name).unwrap_or_default();
        files::read_at_most(&copy.join(name), expected.len() as u64).is_ok_and(|bytes| bytes == expected)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_made_once_and_again_when_somebody_changed_it() {
        let (source, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::fs::create_dir(source.path().join("lib")).unwrap();
        std::fs::write(source.path().join("lib/a.py"), "a").unwrap();
        let folder = ExtensionFolder::read(source.path()).unwrap();
        let copy = approved_copy(&folder, state.path(), "mine").unwrap();
        std::fs::write(source.path().join("lib/a.py"), "changed later").unwrap();
        assert_eq!(std::fs::read_to_string(copy.join("lib/a.py")).unwrap(), "a");
        assert_eq!(approved_copy(&folder, state.path(), "mine").unwrap(), copy);
        std::fs::write(copy.join("lib/a.py"), "tampered with").unwrap();
        assert_eq!(approved_copy(&folder, state.path(), "mine").unwrap(), copy);
        assert_eq!(std::fs::read_to_string(copy.join("lib/a.py")).unwrap(), "a");
        let other = ExtensionFolder::read(source.path()).unwrap();
        assert_ne!(approved_copy(&other, state.path(), "mine").unwrap(), copy);
        assert_eq!(std::fs::read_dir(state.path().join(COPIES).join("mine")).unwrap().count(), 2);
    }

    #[cfg(unix)]
    #[test]
    fn what_may_be_executed_may_be_in_the_copy() {
        use std::os::unix::fs::PermissionsExt as _;
        let (source, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let program = source.path().join("run.sh");
        std::fs::write(&program, "#!/bin/sh\n").unwrap();
        let mode_of = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o100;
        let folder = ExtensionFolder::read(source.path()).unwrap();
        for mode in [0o644, 0o755] {
            std::fs::set_permissions(&program, std::fs::Permissions::from_mode(mode)).unwrap();
            let copy = approved_copy(&folder, state.path(), "mine").unwrap();
            assert_eq!(mode_of(&copy.join("run.sh")), mode & 0o100);
        }
    }
}
