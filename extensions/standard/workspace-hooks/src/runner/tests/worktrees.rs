//! Patch mode in a real repository: the tree stays as it is, and the change can be applied.

use super::rig::{Rig, failure, run};
use crate::contract::{Place, RunId};
use crate::performer::{Again, End};
use std::path::{Path, PathBuf};
use std::process::Command;

fn git(folder: &Path, words: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main"])
        .args(words)
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A repository with a committed file, an edited one, an untracked one, and a hook that must not run.
fn repository(script: &str) -> Rig {
    let mut rig = Rig::script(script);
    rig.hook.place = Place::Patch;
    let root = rig.workspace();
    git(&root, &["init", "-q"]);
    rig.write("kept.txt", "one\ntwo\n");
    rig.write("edited.txt", "committed\n");
    rig.write("gone.txt", "bye\n");
    rig.write(".gitignore", "*.log\n");
    git(&root, &["add", "-A"]);
    git(&root, &["commit", "-q", "-m", "first"]);
    rig.write("edited.txt", "not committed\n");
    rig.write("loose.txt", "untracked\n");
    std::fs::remove_file(root.join("gone.txt")).unwrap();
    for hook in ["post-checkout", "pre-commit", "post-commit"] {
        let path = root.join(".git/hooks").join(hook);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, format!("#!/bin/sh\ntouch {}\n", root.join("hook-ran").display())).unwrap();
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    rig
}

fn patch_of(rig: &Rig) -> (Option<PathBuf>, String) {
    let performance = run(rig.perform());
    assert_eq!(performance.end, End::Success, "{}", performance.output);
    assert_eq!(performance.wrote, [""; 0]);
    (performance.patch, performance.output)
}

fn assert_put_away(rig: &Rig) {
    let left: Vec<_> = std::fs::read_dir(rig.state().join("worktrees")).unwrap().flatten().collect();
    assert!(left.is_empty(), "{left:?}");
    assert_eq!(git(&rig.workspace(), &["worktree", "list"]).lines().count(), 1);
    assert!(!rig.workspace().join("hook-ran").exists());
}

#[test]
fn the_change_is_offered_and_the_tree_untouched() {
    let mut rig = repository(
        "cat edited.txt; ls; echo three >> kept.txt; printf 'a\\000b' > new.bin; rm edited.txt; \
         echo \"$DISPATCH_FILE\"; echo noise > build.log; cat loose.txt; git commit -qam x >/dev/null 2>&1; true",
    );
    rig.about("loose.txt");
    let before = git(&rig.workspace(), &["status", "--porcelain"]);
    let (patch, output) = patch_of(&rig);
    assert!(output.starts_with("not committed\n") && output.contains("untracked\n"), "{output}");
    assert!(!output.contains("gone.txt") && !output.contains(rig.workspace().to_str().unwrap()), "{output}");
    assert_eq!(git(&rig.workspace(), &["status", "--porcelain"]), before);
    let patch = patch.unwrap();
    use std::os::unix::fs::PermissionsExt;
    assert_eq!(patch.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let names = git(&rig.workspace(), &["apply", "--numstat", patch.to_str().unwrap()]);
    for name in ["kept.txt", "new.bin", "edited.txt"] {
        assert!(names.contains(name), "{names}");
    }
    for name in ["build.log", "loose.txt", "gone.txt"] {
        assert!(!names.contains(name), "only what the run changed: {names}");
    }
    git(&rig.workspace(), &["apply", patch.to_str().unwrap()]);
    assert_eq!(std::fs::read_to_string(rig.workspace().join("kept.txt")).unwrap(), "one\ntwo\nthree\n");
    assert_eq!(std::fs::read(rig.workspace().join("new.bin")).unwrap(), b"a\0b");
    assert!(!rig.workspace().join("edited.txt").exists());
    assert_put_away(&rig);
}

#[test]
fn no_change_is_no_patch_and_a_failure_offers_none() {
    let rig = repository("cat kept.txt");
    assert_eq!(patch_of(&rig).0, None);
    assert_put_away(&rig);
    let rig = repository("echo half >> kept.txt; exit 1");
    let performance = run(rig.perform());
    assert_eq!((failure(&performance).1, &performance.patch), (Again::Worthwhile, &None));
    assert_put_away(&rig);
    let mut rig = repository("sleep 300");
    rig.hook.timeout_ms = 3_000;
    assert_eq!(run(rig.perform()).end, End::Timeout);
    assert_put_away(&rig);
}

#[test]
fn a_workspace_below_the_top_works_in_its_own_place() {
    let mut rig = repository("pwd; echo more >> inner.txt; echo \"$DISPATCH_FILE\"");
    let below = rig.write("deep/er/inner.txt", "x\n").parent().unwrap().to_path_buf();
    git(&rig.workspace(), &["add", "-A"]);
    git(&rig.workspace(), &["-c", "core.hooksPath=/dev/null", "commit", "-q", "-m", "second"]);
    rig.about("inner.txt");
    let assignment = crate::performer::Assignment { workspace: below.clone(), ..rig.assignment() };
    let performance = run(rig.performer().perform(assignment));
    assert_eq!(performance.end, End::Success, "{}", performance.output);
    assert!(performance.output.contains("tree/deep/er/inner.txt"), "{}", performance.output);
    let patch = std::fs::read_to_string(performance.patch.unwrap()).unwrap();
    assert!(patch.contains("a/deep/er/inner.txt"), "{patch}");
    assert_eq!(std::fs::read_to_string(below.join("inner.txt")).unwrap(), "x\n");
}

#[test]
fn kinds_that_changed_since_the_commit_come_along_and_nothing_is_written_through_links() {
    let rig = repository("ls -l; cat was-link/file; cat was-folder; readlink was-file");
    let outside = rig.folder.path().join("outside");
    std::fs::create_dir(&outside).unwrap();
    let root = rig.workspace();
    std::os::unix::fs::symlink(&outside, root.join("was-link")).unwrap();
    rig.write("was-folder/file", "x");
    rig.write("was-file", "x");
    git(&root, &["add", "-A"]);
    git(&root, &["-c", "core.hooksPath=/dev/null", "commit", "-q", "-m", "second"]);
    std::fs::remove_file(root.join("was-link")).unwrap();
    rig.write("was-link/file", "in a folder now\n");
    std::fs::remove_dir_all(root.join("was-folder")).unwrap();
    rig.write("was-folder", "a file now\n");
    std::fs::remove_file(root.join("was-file")).unwrap();
    std::os::unix::fs::symlink("kept.txt", root.join("was-file")).unwrap();
    git(&root, &["add", "-A"]);
    let (patch, output) = patch_of(&rig);
    assert!(output.ends_with("in a folder now\na file now\nkept.txt\n"), "{output}");
    assert_eq!((patch, std::fs::read_dir(&outside).unwrap().count()), (None, 0));
}

#[test]
fn without_a_repository_or_a_commit_there_is_a_hint() {
    let mut rig = Rig::script("true");
    rig.hook.place = Place::Patch;
    let performance = run(rig.perform());
    let (reason, again) = failure(&performance);
    assert!(reason.contains("git repository") && reason.contains("`place`"), "{reason}");
    assert_eq!(again, Again::Useless);
    git(&rig.workspace(), &["init", "-q"]);
    let performance = run(rig.perform());
    assert!(failure(&performance).0.contains("commit"), "{performance:?}");
}

#[test]
fn what_a_crash_left_is_taken_away_and_what_is_in_use_stays() {
    let rig = repository("true");
    let shelf = crate::runner::shelf::Shelf::new(rig.state());
    let (left, used) = (shelf.bench(&RunId("dead".to_owned()), 1), shelf.bench(&RunId("alive".to_owned()), 1));
    for home in [&left, &used] {
        std::fs::create_dir_all(home).unwrap();
        std::fs::write(home.join("lock"), "").unwrap();
        std::fs::write(home.join("repository"), rig.workspace().to_str().unwrap()).unwrap();
        let tree = home.join("tree");
        git(
            &rig.workspace(),
            &["-c", "core.hooksPath=/dev/null", "worktree", "add", "-q", "--detach", tree.to_str().unwrap()],
        );
    }
    let held = dispatch_os::FileLock::try_acquire(&used.join("lock"), dispatch_os::LockKind::Exclusive).unwrap();
    crate::runner::patch::sweep(&shelf);
    assert!(!left.exists() && used.join("tree/kept.txt").exists());
    assert_eq!(git(&rig.workspace(), &["worktree", "list"]).lines().count(), 2);
    drop(held);
    // A child that another test starts holds the lock for a moment as well.
    while used.exists() {
        crate::runner::patch::sweep(&shelf);
    }
    assert_put_away(&rig);
}
