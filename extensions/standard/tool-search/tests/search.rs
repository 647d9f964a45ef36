//! The search tools against real files, through a real host.

#![allow(clippy::disallowed_methods, reason = "tests set up and look at real files and processes")]
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use dispatch_support::TestToolHost;
use serde_json::json;

struct TestWorkspace {
    _folder: tempfile::TempDir,
    root: PathBuf,
    rig: TestToolHost,
}

fn workspace() -> TestWorkspace {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap().join("root");
    for (path, text) in [
        ("src/main.rs", "fn main() {\n    let needle = 1;\n}\n"),
        ("src/deep/lib.rs", "// Needle\nfn other() {}\n// needle two\n"),
        ("README.md", "a needle here\n"),
        (".gitignore", "target/\n*.log\n"),
        (".hidden/x.rs", "needle\n"),
        (".git/config", "needle\n"),
        ("target/debug.rs", "needle\n"),
        ("x.log", "needle\n"),
    ] {
        fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
        fs::write(root.join(path), text).unwrap();
    }
    fs::write(folder.path().join("secret.rs"), "needle outside\n").unwrap();
    let rig = TestToolHost::new(vec![ext_tool_search::extension()], &root, &[]);
    TestWorkspace { _folder: folder, root, rig }
}

#[test]
fn contents_are_found_where_git_looks() {
    let TestWorkspace { rig, .. } = &workspace();
    assert_eq!(
        rig.text("search_files", json!({"pattern": "needle"})),
        "README.md:1: a needle here\nsrc/deep/lib.rs:3: // needle two\nsrc/main.rs:2:     let needle = 1;\n[3 matching lines.]"
    );
    let only = |more: serde_json::Value| {
        let mut arguments = json!({"pattern": "needle"});
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        rig.text("search_files", arguments)
    };
    assert!(only(json!({"glob": "*.md"})).starts_with("README.md:1"));
    assert!(only(json!({"glob": "!*.rs"})).contains("[1 matching lines.]"));
    assert!(only(json!({"path": "src/main.rs"})).starts_with("src/main.rs:2"));
    assert!(only(json!({"path": "src/main.rs", "glob": "*.md"})).starts_with("Nothing matches"));
    assert!(only(json!({"case": "insensitive"})).contains("[4 matching lines.]"));
    assert!(only(json!({"case": "smart"})).contains("[4 matching lines.]"));
    assert!(only(json!({"glob": "*.log"})).starts_with("Nothing matches"), "a glob brings back nothing ignored");
    assert!(only(json!({"glob": ".hidden/**"})).starts_with(".hidden/x.rs:1"));
    assert!(only(json!({"glob": ".git/**"})).starts_with("Nothing matches"));
    let around = only(json!({"path": "src/main.rs", "context": 1}));
    assert!(
        around.starts_with("src/main.rs-1- fn main() {\nsrc/main.rs:2:     let needle = 1;\nsrc/main.rs-3- }"),
        "{around}"
    );
}

#[test]
fn files_are_found_by_name() {
    let TestWorkspace { rig, .. } = &workspace();
    assert_eq!(rig.text("find_files", json!({"pattern": "*.rs"})), "src/deep/lib.rs\nsrc/main.rs\n[2 files.]");
    assert!(rig.text("find_files", json!({"pattern": "src/*.rs"})).starts_with("src/main.rs\n[1 files.]"));
    assert!(rig.text("find_files", json!({"pattern": "*.rs", "path": "src/deep"})).starts_with("src/deep/lib.rs"));
    assert!(rig.text("find_files", json!({"pattern": "*.rs", "max_results": 1})).contains("Only the first 1 files"));
    assert!(rig.text("find_files", json!({"pattern": "*.zig"})).starts_with("No file matches"));
    assert!(rig.text("find_files", json!({"pattern": ".gitignore"})).starts_with(".gitignore\n"));
}

#[test]
fn wrong_arguments_are_explained() {
    let TestWorkspace { rig, .. } = &workspace();
    assert!(rig.refusal("search_files", json!({"pattern": "("})).contains("not valid"));
    assert!(rig.refusal("search_files", json!({"pattern": "x", "glob": "["})).contains("glob is wrong"));
    assert!(rig.refusal("search_files", json!({"pattern": "x", "path": "none"})).contains("does not exist"));
    assert!(rig.refusal("find_files", json!({"pattern": "!x"})).contains("which files"));
    assert!(rig.refusal("find_files", json!({"pattern": "["})).contains("glob is wrong"));
    rig.refusal("search_files", json!({"pattern": "x", "case": "loud"}));
    rig.refusal("search_files", json!({"query": "x"}));
    rig.refusal("search_files", json!({"pattern": "x", "max_results": 0}));
}

#[test]
fn links_are_not_followed_out_or_in() {
    let TestWorkspace { rig, root, .. } = &workspace();
    symlink(root.parent().unwrap(), root.join("up")).unwrap();
    symlink(root.parent().unwrap().join("secret.rs"), root.join("link.rs")).unwrap();
    let said = rig.text("search_files", json!({"pattern": "outside"}));
    assert!(said.starts_with("Nothing matches"), "{said}");
    for path in ["up", "..", "/", "link.rs", "/proc/self/cwd"] {
        assert!(rig.refusal("search_files", json!({"pattern": "x", "path": path})).contains("outside"), "{path}");
    }
    assert!(rig.refusal("find_files", json!({"pattern": "*", "path": "up"})).contains("outside"));
}

#[test]
fn binary_long_and_strange_files_do_no_harm() {
    use std::os::unix::ffi::OsStrExt;
    let TestWorkspace { rig, root, .. } = &workspace();
    fs::write(root.join("binary"), b"mark\0mark\n").unwrap();
    fs::write(root.join("long"), format!("mark{}\n", "x".repeat(100_000))).unwrap();
    fs::write(root.join("latin"), b"mark \xe9\n").unwrap();
    fs::write(root.join("wide"), b"\xff\xfem\0a\0r\0k\0\n\0").unwrap();
    fs::write(root.join(std::ffi::OsStr::from_bytes(b"n\xff")), "mark\n").unwrap();
    assert!(std::process::Command::new("mkfifo").arg(root.join("pipe")).status().unwrap().success());
    let said = rig.text("search_files", json!({"pattern": "mark"}));
    assert!(
        said.contains("latin:1: mark \u{fffd}") && said.contains("wide:1: mark") && said.contains("n\u{fffd}:1: mark"),
        "{said}"
    );
    assert!(!said.contains("binary:1") && said.contains(" [...]\n") && said.len() < 2_000, "{said}");
}

#[test]
fn a_search_is_bounded_in_results_and_bytes() {
    let TestWorkspace { rig, root, .. } = &workspace();
    fs::write(root.join("many"), "mark\n".repeat(5_000)).unwrap();
    let said = rig.text("search_files", json!({"pattern": "mark"}));
    assert_eq!(said.matches("many:").count(), 100);
    assert!(said.contains("Only the first 100 matching lines; there are more"));
    fs::write(root.join("wide-many"), format!("mark{}\n", "y".repeat(290)).repeat(2_000)).unwrap();
    let said = rig.text("search_files", json!({"pattern": "marky", "max_results": 1000}));
    assert!(said.len() < 42_000 && said.contains("more did not fit"), "{}", said.len());
}

#[test]
fn an_evil_pattern_takes_no_time_and_a_cancelled_search_ends() {
    let TestWorkspace { rig, root, .. } = &workspace();
    fs::write(root.join("evil"), format!("{}!\n", "a".repeat(200_000))).unwrap();
    let said = rig.text("search_files", json!({"pattern": "(a+)+$|(a|a)*b|(.*a){20}c", "path": "evil"}));
    assert!(said.starts_with("Nothing matches"), "{said}");
    rig.cancel.cancel();
    assert!(rig.text("search_files", json!({"pattern": "needle"})).contains("cancelled"));
    assert!(rig.text("find_files", json!({"pattern": "*"})).contains("cancelled"));
}

/// A folder is swapped for a link to the outside and back while searches run.
#[cfg(target_os = "linux")]
#[test]
fn a_link_swapped_in_between_shows_nothing_of_the_outside() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let TestWorkspace { rig, root, .. } = &workspace();
    let outside = root.parent().unwrap().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("main.rs"), "needle of the outside\n").unwrap();
    fs::write(outside.join("only-outside.rs"), "needle of the outside\n").unwrap();
    let (place, aside, link) = (root.join("src"), root.join("aside"), root.join("link"));
    symlink(&outside, &link).unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                for (from, to) in [(&place, &aside), (&link, &place), (&place, &link), (&aside, &place)] {
                    fs::rename(from, to).unwrap();
                }
            }
        });
        for _ in 0..300 {
            let said = rig.text("search_files", json!({"pattern": "needle"}));
            assert!(!said.contains("of the outside"), "{said}");
            let said = rig.text("find_files", json!({"pattern": "*.rs"}));
            assert!(!said.contains("only-outside"), "{said}");
        }
        stop.store(true, Ordering::Relaxed);
    });
}
