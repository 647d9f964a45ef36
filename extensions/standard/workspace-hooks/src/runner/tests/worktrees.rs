//! Patch mode in a real repository: the tree stays as it is, and the change can be applied.

use super::runner_host::{RunnerHost, failure, run};
use crate::contract::{RunId, RunPlace};
use crate::run_executor::{RetryAdvice, RunEnd};
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
fn repository(script: &str) -> RunnerHost {
    let mut host = RunnerHost::script(script);
    host.hook.place = RunPlace::Patch;
    let root = host.workspace();
    git(&root, &["init", "-q"]);
    host.write("kept.txt", "one\ntwo\n");
    host.write("edited.txt", "committed\n");
    host.write("gone.txt", "bye\n");
    host.write(".gitignore", "*.log\n");
    git(&root, &["add", "-A"]);
    git(&root, &["commit", "-q", "-m", "first"]);
    host.write("edited.txt", "not committed\n");
    host.write("loose.txt", "untracked\n");
    std::fs::remove_file(root.join("gone.txt")).unwrap();
    for hook in ["post-checkout", "pre-commit", "post-commit"] {
        let path = root.join(".git/hooks").join(hook);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, format!("#!/bin/sh\ntouch {}\n", root.join("hook-ran").display())).unwrap();
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    host
}

fn patch_of(host: &RunnerHost) -> (Option<PathBuf>, String) {
    let result = run(host.execute());
    assert_eq!(result.end, RunEnd::Success, "{}", result.output);
    assert_eq!(result.wrote, [""; 0]);
    (result.patch, result.output)
}

fn assert_put_away(host: &RunnerHost) {
    let left: Vec<_> = std::fs::read_dir(host.state().join("worktrees")).unwrap().flatten().collect();
    assert!(left.is_empty(), "{left:?}");
    assert_eq!(git(&host.workspace(), &["worktree", "list"]).lines().count(), 1);
    assert!(!host.workspace().join("hook-ran").exists());
}

#[test]
fn the_change_is_offered_and_the_tree_untouched() {
    let mut host = repository(
        "cat edited.txt; ls; echo three >> kept.txt; printf 'a\\000b' > new.bin; rm edited.txt; \
         echo \"$DISPATCH_FILE\"; echo noise > build.log; cat loose.txt; git commit -qam x >/dev/null 2>&1; true",
    );
    host.about("loose.txt");
    let before = git(&host.workspace(), &["status", "--porcelain"]);
    let (patch, output) = patch_of(&host);
    assert!(output.starts_with("not committed\n") && output.contains("untracked\n"), "{output}");
    assert!(!output.contains("gone.txt") && !output.contains(host.workspace().to_str().unwrap()), "{output}");
    assert_eq!(git(&host.workspace(), &["status", "--porcelain"]), before);
    let patch = patch.unwrap();
    use std::os::unix::fs::PermissionsExt;
    assert_eq!(patch.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let names = git(&host.workspace(), &["apply", "--numstat", patch.to_str().unwrap()]);
    for name in ["kept.txt", "new.bin", "edited.txt"] {
        assert!(names.contains(name), "{names}");
    }
    for name in ["build.log", "loose.txt", "gone.txt"] {
        assert!(!names.contains(name), "only what the run changed: {names}");
    }
    git(&host.workspace(), &["apply", patch.to_str().unwrap()]);
    assert_eq!(std::fs::read_to_string(host.workspace().join("kept.txt")).unwrap(), "one\ntwo\nthree\n");
    assert_eq!(std::fs::read(host.workspace().join("new.bin")).unwrap(), b"a\0b");
    assert!(!host.workspace().join("edited.txt").exists());
    assert_put_away(&host);
}

#[test]
fn no_change_is_no_patch_and_a_failure_offers_none() {
    let host = repository("cat kept.txt");
    assert_eq!(patch_of(&host).0, None);
    assert_put_away(&host);
    let host = repository("echo half >> kept.txt; exit 1");
    let result = run(host.execute());
    assert_eq!((failure(&result).1, &result.patch), (RetryAdvice::Worthwhile, &None));
    assert_put_away(&host);
    let mut host = repository("sleep 300");
    host.hook.timeout_ms = 3_000;
    assert_eq!(run(host.execute()).end, RunEnd::Timeout);
    assert_put_away(&host);
}

#[test]
fn a_workspace_below_the_top_works_in_its_own_place() {
    let mut host = repository("pwd; echo more >> inner.txt; echo \"$DISPATCH_FILE\"");
    let below = host.write("deep/er/inner.txt", "x\n").parent().unwrap().to_path_buf();
    git(&host.workspace(), &["add", "-A"]);
    git(&host.workspace(), &["-c", "core.hooksPath=/dev/null", "commit", "-q", "-m", "second"]);
    host.about("inner.txt");
    let job = crate::run_executor::RunJob { workspace: below.clone(), ..host.job() };
    let result = run(host.executor().execute(job));
    assert_eq!(result.end, RunEnd::Success, "{}", result.output);
    assert!(result.output.contains("tree/deep/er/inner.txt"), "{}", result.output);
    let patch = std::fs::read_to_string(result.patch.unwrap()).unwrap();
    assert!(patch.contains("a/deep/er/inner.txt"), "{patch}");
    assert_eq!(std::fs::read_to_string(below.join("inner.txt")).unwrap(), "x\n");
}

#[test]
fn kinds_that_changed_since_the_commit_come_along_and_nothing_is_written_through_links() {
    let host = repository("ls -l; cat was-link/file; cat was-folder; readlink was-file");
    let outside = host.folder.path().join("outside");
    std::fs::create_dir(&outside).unwrap();
    let root = host.workspace();
    std::os::unix::fs::symlink(&outside, root.join("was-link")).unwrap();
    host.write("was-folder/file", "x");
    host.write("was-file", "x");
    git(&root, &["add", "-A"]);
    git(&root, &["-c", "core.hooksPath=/dev/null", "commit", "-q", "-m", "second"]);
    std::fs::remove_file(root.join("was-link")).unwrap();
    host.write("was-link/file", "in a folder now\n");
    std::fs::remove_dir_all(root.join("was-folder")).unwrap();
    host.write("was-folder", "a file now\n");
    std::fs::remove_file(root.join("was-file")).unwrap();
    std::os::unix::fs::symlink("kept.txt", root.join("was-file")).unwrap();
    git(&root, &["add", "-A"]);
    let (patch, output) = patch_of(&host);
    assert!(output.ends_with("in a folder now\na file now\nkept.txt\n"), "{output}");
    assert_eq!((patch, std::fs::read_dir(&outside).unwrap().count()), (None, 0));
}

#[test]
fn without_a_repository_or_a_commit_there_is_a_hint() {
    let mut host = RunnerHost::script("true");
    host.hook.place = RunPlace::Patch;
    let result = run(host.execute());
    let (reason, again) = failure(&result);
    assert!(reason.contains("git repository") && reason.contains("`place`"), "{reason}");
    assert_eq!(again, RetryAdvice::Useless);
    git(&host.workspace(), &["init", "-q"]);
    let result = run(host.execute());
    assert!(failure(&result).0.contains("commit"), "{result:?}");
}

#[test]
fn what_a_crash_left_is_taken_away_and_what_is_in_use_stays() {
    let host = repository("true");
    let state_folder = crate::runner::run_state_folder::RunStateFolder::new(host.state());
    let (left, used) =
        (state_folder.worktree(&RunId("dead".to_owned()), 1), state_folder.worktree(&RunId("alive".to_owned()), 1));
    for home in [&left, &used] {
        std::fs::create_dir_all(home).unwrap();
        std::fs::write(home.join("lock"), "").unwrap();
        std::fs::write(home.join("repository"), host.workspace().to_str().unwrap()).unwrap();
        let tree = home.join("tree");
        git(
            &host.workspace(),
            &["-c", "core.hooksPath=/dev/null", "worktree", "add", "-q", "--detach", tree.to_str().unwrap()],
        );
    }
    let held = dispatch_os::FileLock::try_acquire(&used.join("lock"), dispatch_os::LockKind::Exclusive).unwrap();
    crate::runner::patch::sweep(&state_folder);
    assert!(!left.exists() && used.join("tree/kept.txt").exists());
    assert_eq!(git(&host.workspace(), &["worktree", "list"]).lines().count(), 2);
    drop(held);
    // A child that another test starts holds the lock for a moment as well.
    while used.exists() {
        crate::runner::patch::sweep(&state_folder);
    }
    assert_put_away(&host);
}
