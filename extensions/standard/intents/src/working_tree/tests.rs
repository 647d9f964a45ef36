//! Changes of real trees, with and without git.

use std::fs;
use std::process::Command;

use tempfile::TempDir;

use super::*;
use crate::content_store::load;

const TIME: Duration = Duration::from_secs(30);

fn git(folder: &Path, arguments: &[&str]) {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=t", "-c", "user.email=t@t"]).args(arguments);
    assert!(run_in(&mut command, folder), "git {arguments:?}");
}

fn run_in(command: &mut Command, folder: &Path) -> bool {
    let quiet = command.current_dir(folder).stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    quiet.status().unwrap().success()
}

fn sh(folder: &Path, text: &str) {
    let setup = "export GIT_AUTHOR_NAME=t GIT_AUTHOR_EMAIL=t@t GIT_COMMITTER_NAME=t GIT_COMMITTER_EMAIL=t@t; ";
    assert!(run_in(Command::new("sh").arg("-c").arg(format!("{setup}{text}")), folder), "{text}");
}

enum TreeKind {
    Git,
    Plain,
}

fn tree(kind: &TreeKind) -> (TempDir, OrchestrationLayout) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    for path in ["src/a.rs", "src/b.rs", "secret.txt", "with space.txt"] {
        fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
        fs::write(root.join(path), format!("first {path}\n")).unwrap();
    }
    fs::write(root.join(".gitignore"), "ignored\n").unwrap();
    if matches!(kind, TreeKind::Git) {
        git(root, &["init", "-q", "-b", "main"]);
        git(root, &["add", "-A"]);
        git(root, &["commit", "-qm", "first"]);
    }
    let layout = OrchestrationLayout::new(root);
    (folder, layout)
}

fn changed(kind: &TreeKind, prepare: &str, command: &str) -> Vec<String> {
    let (folder, layout) = tree(kind);
    sh(folder.path(), prepare);
    let before = snapshot(&layout, TIME);
    assert!(!matches!(before, TreeSnapshot::Missing { .. }), "{before:?}");
    sh(folder.path(), command);
    let found = changes(&layout, &before, TIME);
    assert_eq!(found.incomplete, None, "{command}");
    for change in &found.files {
        for observed in [&change.before, &change.after] {
            if let Some(hash) = &observed.hash {
                assert!(load(&layout, hash).is_some(), "{command}: {}", change.path);
            }
        }
    }
    found.files.into_iter().map(|change| change.path).collect()
}

#[test]
fn every_way_to_change_a_file_is_found_by_git() {
    let table: [(&str, &str, &[&str]); 24] = [
        ("true", "true", &[]),
        ("true", "echo x > secret.txt", &["secret.txt"]),
        ("true", "echo x > 'with space.txt'; echo n > 'new file'", &["new file", "with space.txt"]),
        ("true", "echo x > ignored", &[]),
        ("true", "rm secret.txt", &["secret.txt"]),
        ("true", "mv secret.txt other.txt", &["other.txt", "secret.txt"]),
        ("true", "git mv secret.txt other.txt", &["other.txt", "secret.txt"]),
        ("echo x > secret.txt", "true", &[]),
        ("echo x > secret.txt", "echo y > secret.txt", &["secret.txt"]),
        ("echo x > secret.txt", "git checkout -q secret.txt", &["secret.txt"]),
        ("echo x > secret.txt", "git commit -qam x", &[]),
        ("echo x > new", "git add new", &[]),
        ("echo x > new", "rm new", &["new"]),
        ("true", "echo x > secret.txt; git commit -qam x", &["secret.txt"]),
        ("true", "echo x > secret.txt; git stash -q", &[]),
        ("echo x > secret.txt; git commit -qam x", "git reset -q --hard HEAD~1", &["secret.txt"]),
        ("git checkout -qb o; echo x > new; git add new; git commit -qam x", "git checkout -q main", &["new"]),
        ("true", "git update-index --assume-unchanged secret.txt; echo x > secret.txt", &["secret.txt"]),
        ("git update-index --assume-unchanged secret.txt", "echo x > secret.txt", &["secret.txt"]),
        ("git update-index --skip-worktree secret.txt", "echo x > secret.txt", &["secret.txt"]),
        ("true", "mkdir n; git -C n init -q; echo x > n/file", &["n/file"]),
        ("true", "git rm -q --cached secret.txt; echo x > secret.txt", &["secret.txt"]),
        ("true", "ln -s /etc link", &["link"]),
        ("true", "echo x > secret.txt; touch -r src/a.rs secret.txt", &["secret.txt"]),
    ];
    for (prepare, command, expected) in table {
        assert_eq!(changed(&TreeKind::Git, prepare, command), expected, "{prepare}; {command}");
    }
}

#[test]
fn without_git_every_file_is_compared() {
    let table: [(&str, &[&str]); 5] = [
        ("true", &[]),
        ("echo x > secret.txt; echo n > new", &["new", "secret.txt"]),
        ("rm src/a.rs", &["src/a.rs"]),
        ("cp secret.txt s; touch secret.txt; rm s", &[]),
        ("printf 'FIRST secret.txt\\n' > secret.txt; touch -r src/a.rs secret.txt", &["secret.txt"]),
    ];
    for (command, expected) in table {
        assert_eq!(changed(&TreeKind::Plain, "true", command), expected, "{command}");
    }
}

#[test]
fn a_workspace_below_the_repository_sees_its_own_files() {
    let (folder, _) = tree(&TreeKind::Git);
    let layout = OrchestrationLayout::new(&folder.path().join("src"));
    let before = snapshot(&layout, TIME);
    sh(folder.path(), "echo x > secret.txt; echo x > src/a.rs; git commit -qam x; echo y > src/new.rs");
    let found = changes(&layout, &before, TIME);
    let paths: Vec<&str> = found.files.iter().map(|change| change.path.as_str()).collect();
    assert_eq!(paths, ["a.rs", "new.rs"]);
    assert_eq!(found.files[0].before.bytes.as_deref(), Some(b"first src/a.rs\n".as_slice()));
}

#[test]
fn without_time_nothing_is_claimed() {
    for kind in [TreeKind::Git, TreeKind::Plain] {
        let (_folder, layout) = tree(&kind);
        assert!(matches!(snapshot(&layout, Duration::ZERO), TreeSnapshot::Missing { .. }));
        let before = snapshot(&layout, TIME);
        assert!(changes(&layout, &before, Duration::ZERO).incomplete.is_some());
        assert!(changes(&layout, &TreeSnapshot::Missing { why: "busy".to_owned() }, TIME).incomplete.is_some());
    }
}
