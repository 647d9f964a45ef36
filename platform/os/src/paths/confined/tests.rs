//! Confined file work against real folders, links, pipes and somebody who swaps them.

use super::*;
use std::io::Read;
use std::os::unix::fs::symlink;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

struct ConfinedFolders {
    _folder: tempfile::TempDir,
    root: PathBuf,
    outside: PathBuf,
}

fn folders() -> ConfinedFolders {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().canonicalize().unwrap();
    let (root, outside) = (base.join("root"), base.join("outside"));
    std::fs::create_dir_all(root.join("src/deep")).unwrap();
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("file"), "secret").unwrap();
    std::fs::write(root.join("src/file"), "inside").unwrap();
    symlink(&outside, root.join("out")).unwrap();
    symlink("src/file", root.join("link")).unwrap();
    symlink("../outside/new", root.join("dangling")).unwrap();
    ConfinedFolders { _folder: folder, root, outside }
}

fn read(spot: &ConfinedPath) -> Result<String, OsError> {
    let mut text = String::new();
    spot.open()?.read_to_string(&mut text).map_err(|source| OsError::io("read", spot.path(), source))?;
    Ok(text)
}

#[test]
fn relative_paths_start_at_the_working_folder_and_may_go_up_to_the_project() {
    let folders = folders();
    let confined = Confined::workspace(Some(&folders.root), &folders.root.join("src/deep")).unwrap();
    assert_eq!(confined.root(), folders.root);
    assert_eq!(read(&confined.locate(Path::new("../file")).unwrap()).unwrap(), "inside");
    assert_eq!(read(&confined.locate(&folders.root.join("link")).unwrap()).unwrap(), "inside");
    assert_eq!(confined.shown(&folders.root.join("src/deep/x")), Path::new("x"));
    assert_eq!(confined.shown(&folders.root.join("src")), folders.root.join("src"));
    let elsewhere = Confined::workspace(Some(&folders.outside), &folders.root).unwrap();
    assert_eq!(elsewhere.root(), folders.root, "a project that does not hold the folder does not count");
    assert!(Confined::workspace(None, &folders.root.join("missing")).is_err());
}

#[test]
fn what_leads_out_is_refused_for_every_kind_of_work() {
    let folders = folders();
    let confined = Confined::workspace(None, &folders.root).unwrap();
    let absolute = folders.outside.join("file");
    let parent = format!("/proc/self/root{}", absolute.display());
    for path in ["../outside/file", "out/file", "out", "dangling", "src/../../outside/file", "..", &parent] {
        let refused = confined.locate(Path::new(path)).unwrap_err();
        assert!(matches!(refused, OsError::Outside { .. }), "{path}: {refused}");
    }
    assert!(confined.locate(&absolute).is_err());
    assert!(!folders.outside.join("new").exists());
}

#[test]
fn files_are_made_with_their_folders_and_removed() {
    let folders = folders();
    let confined = Confined::workspace(None, &folders.root).unwrap();
    let spot = confined.locate(Path::new("a/b/c.txt")).unwrap();
    spot.replace(b"one", ReplaceOptions::default()).unwrap();
    assert_eq!(read(&spot).unwrap(), "one");
    let through_link = confined.locate(Path::new("link")).unwrap();
    through_link.replace(b"two", ReplaceOptions::default()).unwrap();
    assert!(folders.root.join("link").symlink_metadata().unwrap().is_symlink(), "the link stays a link");
    assert_eq!(std::fs::read_to_string(folders.root.join("src/file")).unwrap(), "two");
    spot.remove().unwrap();
    assert!(spot.open().unwrap_err().is_not_found());
    assert!(confined.locate(Path::new("src")).unwrap().remove().is_err());
    let failed = confined.locate(Path::new("src/file/below")).unwrap().replace(b"", ReplaceOptions::default());
    assert!(failed.is_err());
}

#[test]
fn pipes_are_not_opened() {
    let folders = folders();
    let made = std::process::Command::new("mkfifo").arg(folders.root.join("pipe")).status().unwrap();
    assert!(made.success());
    let confined = Confined::workspace(None, &folders.root).unwrap();
    let refused = confined.locate(Path::new("pipe")).unwrap().open().unwrap_err();
    assert!(matches!(refused, OsError::NotAFile { .. }), "{refused}");
}

/// Swaps a folder for a link to the outside and back, as fast as it can, while files are read and written.
#[cfg(target_os = "linux")]
#[test]
fn a_link_swapped_in_between_never_leads_out() {
    let folders = folders();
    let confined = Confined::workspace(None, &folders.root).unwrap();
    let (place, link) = (folders.root.join("src"), folders.root.join("to-outside"));
    symlink(&folders.outside, &link).unwrap();
    use rustix::fs::{CWD, RenameFlags};
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    let swapper = std::thread::spawn(move || {
        while !stopped.load(Ordering::Relaxed) {
            rustix::fs::renameat_with(CWD, &place, CWD, &link, RenameFlags::EXCHANGE).unwrap();
        }
    });
    let (mut worked, mut refused) = (0, 0);
    let mut opener = confined.opener();
    for round in 0..4_000 {
        let text = confined.locate(Path::new("src/file")).and_then(|spot| read(&spot));
        match text {
            Ok(text) => {
                assert_ne!(text, "secret");
                worked += 1;
            }
            Err(_) => refused += 1,
        }
        let name = format!("src/made-{}", round % 10);
        let _ = confined.locate(Path::new(&name)).and_then(|spot| spot.replace(b"x", ReplaceOptions::default()));
        if let Ok(mut file) = opener.open(&folders.root.join("src/file")) {
            let mut text = String::new();
            file.read_to_string(&mut text).unwrap();
            assert_ne!(text, "secret");
        }
    }
    stop.store(true, Ordering::Relaxed);
    swapper.join().unwrap();
    assert!(worked > 0 && refused > 0, "{worked} worked, {refused} were refused");
    let names: Vec<_> = std::fs::read_dir(&folders.outside).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(names, ["file"], "nothing was made outside");
}
