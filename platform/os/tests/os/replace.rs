//! Atomic replacement: whole content under concurrent readers, permissions kept, no litter.

use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use dispatch_os::files::{remove_stale_temporaries, replace, replace_with};
use dispatch_os::{Access, Durability, OsError, ReplaceOptions, SymlinkPolicy};

use super::role::{output_of, say};

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn readers_never_see_a_part() {
    const BYTES: usize = 100_000;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.json");
    replace(&path, &[b'0'; BYTES]).unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let mut reads = 0;
                while !done.load(Ordering::Relaxed) || reads == 0 {
                    let content = std::fs::read(&path).unwrap();
                    assert_eq!(content.len(), BYTES);
                    assert!(content.iter().all(|byte| *byte == content[0]));
                    reads += 1;
                }
            });
        }
        for round in 0..200_u8 {
            replace(&path, &[b'0' + round % 10; BYTES]).unwrap();
        }
        done.store(true, Ordering::Relaxed);
    });
    assert_eq!(names(folder.path()), ["state.json"]);
}

#[test]
fn permissions_are_kept_or_given() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    std::fs::write(&path, "old").unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
    let inode = std::fs::metadata(&path).unwrap().ino();
    replace(&path, b"new").unwrap();
    assert_eq!((mode(&path), std::fs::read_to_string(&path).unwrap().as_str()), (0o640, "new"));
    assert_ne!(std::fs::metadata(&path).unwrap().ino(), inode);
    for (access, expected) in [(Access::OwnerOnly, 0o600), (Access::Mode(0o755), 0o755)] {
        let options = ReplaceOptions { access, ..ReplaceOptions::default() };
        replace_with(&path, b"new", options).unwrap();
        assert_eq!(mode(&path), expected);
        let fresh = folder.path().join(format!("fresh-{expected}"));
        replace_with(&fresh, b"new", options).unwrap();
        assert_eq!(mode(&fresh), expected);
    }
}

#[test]
fn every_durability_writes_the_same() {
    let folder = tempfile::tempdir().unwrap();
    for durability in [Durability::Process, Durability::Content, Durability::ContentAndName] {
        let path = folder.path().join(format!("{durability:?}"));
        let options = ReplaceOptions { durability, ..ReplaceOptions::default() };
        replace_with(&path, b"content", options).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"content");
    }
}

#[test]
fn links_are_refused_unless_followed_and_stay_links() {
    let folder = tempfile::tempdir().unwrap();
    let (target, link) = (folder.path().join("target"), folder.path().join("link"));
    let chain = folder.path().join("chain");
    symlink("target", &link).unwrap();
    symlink("link", &chain).unwrap();
    let error = replace(&link, b"new").unwrap_err();
    assert!(matches!(error, OsError::SymlinkRefused { .. }), "{error}");
    assert!(!target.exists());
    let options = ReplaceOptions { symlink: SymlinkPolicy::Follow, ..ReplaceOptions::default() };
    replace_with(&chain, b"new", options).unwrap();
    assert!(link.is_symlink() && chain.is_symlink() && !target.is_symlink());
    assert_eq!(std::fs::read(&target).unwrap(), b"new");
    let knot = folder.path().join("knot");
    symlink("knot", &knot).unwrap();
    let error = replace_with(&knot, b"new", options).unwrap_err();
    assert!(matches!(error, OsError::TooManySymlinks { .. }), "{error}");
}

#[test]
fn errors_name_the_path_and_leave_no_litter() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("dir")).unwrap();
    let error = replace(&folder.path().join("dir"), b"x").unwrap_err();
    assert!(matches!(error, OsError::NotAFile { .. }), "{error}");
    assert!(matches!(replace("/dev/null".as_ref(), b"x"), Err(OsError::NotAFile { .. })));
    assert!(replace(&folder.path().join("none/file"), b"x").unwrap_err().is_not_found());
    assert_eq!(names(folder.path()), ["dir"]);
}

/// Permissions bind only those who are not root.
pub fn read_only_role(folder: &str) {
    #[allow(unsafe_code, reason = "changes the user of this role's process")]
    // SAFETY: plain system calls on numbers.
    unsafe {
        if libc::geteuid() == 0 {
            assert_eq!(libc::setuid(65_534), 0);
        }
    }
    let error = replace(&Path::new(folder).join("file"), b"new").unwrap_err();
    say(format!("{:?}, {:?}", error.io_kind(), error.hint()));
}

#[test]
fn a_read_only_folder_keeps_the_old_file_and_tells_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    std::fs::write(&path, "old").unwrap();
    let set_mode = |mode| {
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(mode)).unwrap();
    };
    set_mode(0o555);
    let (output, code) = output_of("read-only", folder.path().to_str().unwrap());
    set_mode(0o755);
    assert_eq!(code, Some(0), "{output}");
    assert!(output.contains("Some(PermissionDenied), Some(\"check who owns"), "{output}");
    assert_eq!(names(folder.path()), ["file"]);
    assert_eq!(std::fs::read(&path).unwrap(), b"old");
}

#[test]
fn what_killed_writers_left_is_removed_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    for name in [".dispatch-0123456789abcdef.tmp", ".dispatch-keep", "file.tmp"] {
        std::fs::write(folder.path().join(name), "").unwrap();
    }
    let young = remove_stale_temporaries(folder.path(), Duration::from_secs(3_600)).unwrap();
    let old = remove_stale_temporaries(folder.path(), Duration::ZERO).unwrap();
    assert_eq!((young, old), (0, 1));
    assert_eq!(names(folder.path()), [".dispatch-keep", "file.tmp"]);
}
