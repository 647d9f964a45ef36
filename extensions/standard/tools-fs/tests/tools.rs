//! The file tools against real files, through a real host.

#![allow(clippy::disallowed_methods, reason = "tests set up and look at real files and processes")]
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use dispatch_contracts::folders::Folders;
use dispatch_contracts::tool::Resources;
use dispatch_support::{TestToolHost, object};
use serde_json::json;

struct TestWorkspace {
    _folder: tempfile::TempDir,
    root: PathBuf,
    rig: TestToolHost,
}

fn workspace() -> TestWorkspace {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap().join("root");
    fs::create_dir_all(root.join("src")).unwrap();
    fs::write(root.join("src/a.rs"), "fn a() {\n    1\n}\n").unwrap();
    fs::write(folder.path().join("secret"), "secret").unwrap();
    let rig = TestToolHost::new(vec![ext_tools_fs::extension()], &root, &[]);
    TestWorkspace { _folder: folder, root, rig }
}

impl TestWorkspace {
    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.root.join(path)).unwrap()
    }
}

#[test]
fn the_tools_are_those_of_the_contract() {
    let workspace = workspace();
    assert_eq!(workspace.rig.names(), ["apply_patch", "edit_file", "list_files", "read_file", "write_file"]);
    let key = |path: &str| workspace.rig.tool("edit_file").resources(&object(json!({ "path": path })));
    assert_eq!(key("src/../src/a.rs"), key(workspace.root.join("src/a.rs").to_str().unwrap()));
    let patch = "*** Begin Patch\n*** Update File: x\n*** Add File: y\n*** End Patch";
    let keys = workspace.rig.tool("apply_patch").resources(&object(json!({ "patch": patch })));
    assert!(matches!(keys, Resources::Keys(keys) if keys.len() == 2));
}

#[test]
fn files_are_read_edited_and_written() {
    let TestWorkspace { rig, root, .. } = &workspace();
    assert_eq!(rig.text("read_file", json!({"path": "src/a.rs"})), "     1\tfn a() {\n     2\t    1\n     3\t}\n");
    let said = rig.text("edit_file", json!({"path": "src/a.rs", "old_text": "    1", "new_text": "    2\n    3"}));
    assert!(said.contains("at line 2") && said.contains("     3\t    3"), "{said}");
    rig.text("write_file", json!({"path": "new/deep/b.txt", "content": "x\n"}));
    assert_eq!(fs::read_to_string(root.join("new/deep/b.txt")).unwrap(), "x\n");
    assert_eq!(fs::read_to_string(root.join("src/a.rs")).unwrap(), "fn a() {\n    2\n    3\n}\n");
    rig.text("write_file", json!({"path": "src/a.rs", "content": "all new\n"}));
    rig.text("edit_file", json!({"path": "src/a.rs", "old_text": "l", "new_text": "L", "replace_all": true}));
    assert_eq!(fs::read_to_string(root.join("src/a.rs")).unwrap(), "aLL new\n");
}

#[test]
fn arguments_are_taken_strictly() {
    let TestWorkspace { rig, .. } = &workspace();
    for (tool, arguments) in [
        ("read_file", json!({})),
        ("read_file", json!({"path": 1})),
        ("read_file", json!({"path": "src/a.rs", "start_line": 0})),
        ("read_file", json!({"file": "src/a.rs"})),
        ("write_file", json!({"path": "x"})),
        ("edit_file", json!({"path": "src/a.rs", "old_text": "", "new_text": "x"})),
        ("edit_file", json!({"path": "src/a.rs", "old_text": "x", "new_text": "x"})),
        ("apply_patch", json!({"patch": "x", "input": "*** Begin Patch"})),
        ("list_files", json!({"depth": 0})),
        ("read_file", json!({"path": ""})),
    ] {
        assert!(!rig.refusal(tool, arguments.clone()).is_empty(), "{tool} {arguments}");
    }
}

#[test]
fn nothing_leads_out_of_the_workspace() {
    let TestWorkspace { rig, root, .. } = &workspace();
    let outside = root.parent().unwrap();
    symlink(outside, root.join("up")).unwrap();
    symlink(outside.join("secret"), root.join("link")).unwrap();
    symlink(outside.join("made"), root.join("dangling")).unwrap();
    let absolute = outside.join("secret");
    let through_proc = format!("/proc/self/root{}", absolute.display());
    for path in ["../secret", "up/secret", "link", absolute.to_str().unwrap(), "src/../../secret", &through_proc] {
        assert!(rig.refusal("read_file", json!({ "path": path })).contains("outside of the workspace"), "{path}");
        rig.refusal("write_file", json!({"path": path, "content": "x"}));
        rig.refusal("edit_file", json!({"path": path, "old_text": "secret", "new_text": "x"}));
        let patch = format!("*** Begin Patch\n*** Update File: {path}\n-secret\n+x\n*** End Patch");
        rig.refusal("apply_patch", json!({ "patch": patch }));
    }
    rig.refusal("write_file", json!({"path": "dangling", "content": "x"}));
    rig.refusal("write_file", json!({"path": "up/made", "content": "x"}));
    rig.refusal("list_files", json!({"path": "up"}));
    rig.refusal("apply_patch", json!({"patch": "*** Begin Patch\n*** Add File: ../made\n+x\n*** End Patch"}));
    let moved = "*** Begin Patch\n*** Update File: src/a.rs\n*** Move to: ../made\n*** End Patch";
    rig.refusal("apply_patch", json!({ "patch": moved }));
    assert!(!outside.join("made").exists());
    assert_eq!(fs::read_to_string(absolute).unwrap(), "secret");
    assert!(rig.text("list_files", json!({})).contains("link -> "), "a link is listed, not followed");
}

#[test]
fn a_project_around_the_working_folder_is_the_workspace() {
    let workspace = workspace();
    let folders = Folders { project: Some(workspace.root.clone()), ..workspace.rig.folders().clone() };
    let rig = TestToolHost::with_folders(vec![ext_tools_fs::extension()], folders, &[]);
    fs::create_dir(workspace.root.join("deep")).unwrap();
    let read = rig.call_in("read_file", json!({"path": "../src/a.rs"}), &workspace.root.join("deep"));
    assert!(read.unwrap().text.contains("fn a()"));
    let alone = workspace.rig.call_in("read_file", json!({"path": "../src/a.rs"}), &workspace.root.join("deep"));
    assert!(alone.is_err());
}

#[test]
fn a_change_by_somebody_else_is_not_overwritten() {
    let TestWorkspace { rig, root, .. } = &mut workspace();
    let path = root.join("src/a.rs");
    assert!(rig.refusal("write_file", json!({"path": "src/a.rs", "content": "x"})).contains("have not read it"));
    rig.text("read_file", json!({"path": "src/a.rs"}));
    fs::write(&path, "fn a() {\n    9\n}\n").unwrap();
    for (tool, arguments) in [
        ("write_file", json!({"path": "src/a.rs", "content": "x"})),
        ("edit_file", json!({"path": "src/a.rs", "old_text": "9", "new_text": "x"})),
        ("apply_patch", json!({"patch": "*** Begin Patch\n*** Update File: src/a.rs\n-    9\n+x\n*** End Patch"})),
    ] {
        let refused = rig.refusal(tool, arguments);
        assert!(
            refused.contains("changed on disk") && refused.to_lowercase().contains("read it again"),
            "{tool}: {refused}"
        );
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), "fn a() {\n    9\n}\n");
    rig.session = "another".to_owned();
    rig.text("edit_file", json!({"path": "src/a.rs", "old_text": "9", "new_text": "8"}));
    rig.session = "session".to_owned();
    rig.refusal("edit_file", json!({"path": "src/a.rs", "old_text": "8", "new_text": "7"}));
    rig.text("read_file", json!({"path": "src/a.rs"}));
    rig.text("edit_file", json!({"path": "src/a.rs", "old_text": "8", "new_text": "7"}));
}

#[test]
fn spelling_and_permissions_survive_an_edit() {
    let TestWorkspace { rig, root, .. } = &workspace();
    let cases: [(&str, &[u8], &[u8]); 4] = [
        ("crlf", b"a\r\nb\r\n", b"a\r\nx\r\ny\r\n"),
        ("mark", b"\xef\xbb\xbfa\nb\n", b"\xef\xbb\xbfa\nx\ny\n"),
        ("wide", b"\xff\xfea\0\n\0b\0\n\0", b"\xff\xfea\0\n\0x\0\n\0y\0\n\0"),
        ("latin", b"\xe9a\nb\n", b"\xe9a\nx\ny\n"),
    ];
    for (name, before, after) in cases {
        let path = root.join(name);
        fs::write(&path, before).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o751)).unwrap();
        rig.text("read_file", json!({ "path": name }));
        rig.text("edit_file", json!({"path": name, "old_text": "a\nb", "new_text": "a\nx\ny"}));
        assert_eq!(fs::read(&path).unwrap(), after, "{name}");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o751);
    }
    let refused = rig.refusal("edit_file", json!({"path": "latin", "old_text": "x", "new_text": "\u{20ac}"}));
    assert!(refused.contains('\u{20ac}'), "{refused}");
}

#[test]
fn an_edit_that_does_not_fit_shows_what_is_near() {
    let TestWorkspace { rig, .. } = &workspace();
    let missing = rig.refusal("edit_file", json!({"path": "src/a.rs", "old_text": "fn b() {", "new_text": "x"}));
    assert!(missing.contains("is not in src/a.rs") && missing.contains("     1\tfn a() {"), "{missing}");
    rig.text("write_file", json!({"path": "twice", "content": "x\ny\nx\n"}));
    let twice = rig.refusal("edit_file", json!({"path": "twice", "old_text": "x", "new_text": "z"}));
    assert!(twice.contains("2 times (lines 1, 3)"), "{twice}");
    assert!(rig.refusal("edit_file", json!({"path": "none", "old_text": "x", "new_text": "z"})).contains("write_file"));
}

#[test]
fn what_is_no_text_is_described_or_refused() {
    let TestWorkspace { rig, root, .. } = &workspace();
    let picture = b"\x89PNG\r\n\x1a\n\0\0";
    fs::write(root.join("p.png"), picture).unwrap();
    let output = rig.call("read_file", json!({"path": "p.png"})).unwrap();
    assert_eq!((output.images.len(), output.images[0].media_type.as_str()), (1, "image/png"));
    assert_eq!(output.images[0].data, "iVBORw0KGgoAAA==");
    fs::write(root.join("b"), b"\x7fELF\0\0\x01").unwrap();
    assert!(rig.text("read_file", json!({"path": "b"})).contains("ELF"));
    assert!(rig.refusal("edit_file", json!({"path": "b", "old_text": "E", "new_text": "F"})).contains("binary"));
    assert!(rig.refusal("read_file", json!({"path": "src"})).contains("list_files"));
    assert!(rig.refusal("write_file", json!({"path": "src", "content": ""})).contains("folder"));
    let pipe = root.join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for tool in ["read_file", "write_file"] {
        let mut arguments = json!({"path": "pipe"});
        if tool == "write_file" {
            arguments["content"] = json!("");
        }
        assert!(rig.refusal(tool, arguments).contains("not a regular file"));
    }
    let large = fs::File::create(root.join("large")).unwrap();
    large.set_len(17 * 1024 * 1024).unwrap();
    assert!(rig.refusal("read_file", json!({"path": "large"})).contains("too large"));
    rig.refusal("read_file", json!({"path": "src/a.rs/below"}));
    rig.refusal("read_file", json!({"path": "n".repeat(5_000)}));
    rig.refusal("read_file", json!({"path": "nul\0"}));
}

#[test]
fn a_read_only_file_is_left_alone() {
    let TestWorkspace { rig, root, .. } = &workspace();
    let path = root.join("src/a.rs");
    rig.text("read_file", json!({"path": "src/a.rs"}));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
    assert!(
        rig.refusal("edit_file", json!({"path": "src/a.rs", "old_text": "1", "new_text": "2"})).contains("read-only")
    );
    assert!(rig.refusal("write_file", json!({"path": "src/a.rs", "content": "2"})).contains("read-only"));
    assert!(fs::read_to_string(&path).unwrap().contains("    1"));
}

#[test]
fn a_patch_changes_all_files_or_none() {
    let workspace = workspace();
    let TestWorkspace { rig, root, .. } = &workspace;
    fs::write(root.join("old"), "gone\n").unwrap();
    fs::write(root.join("run.sh"), "one\n").unwrap();
    fs::set_permissions(root.join("run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    let good = "*** Begin Patch\n*** Update File: src/a.rs\n-    1\n+    2\n*** Add File: d/n.txt\n+new\n*** Delete File: old\n\
                *** Update File: run.sh\n*** Move to: bin/run\n-one\n+two\n*** Update File: src/a.rs\n-    2\n+    3\n";
    let broken = format!("{good}*** Update File: missing\n-x\n+y\n*** End Patch\n");
    assert!(rig.refusal("apply_patch", json!({ "patch": broken })).contains("no file was changed"));
    assert!(workspace.read("src/a.rs").contains("    1") && root.join("old").exists() && !root.join("d").exists());
    let said = rig.text("apply_patch", json!({"patch": format!("{good}*** End Patch\n")}));
    assert!(said.contains("Moved run.sh to bin/run (+1 -1)"), "{said}");
    assert_eq!(
        (workspace.read("src/a.rs").as_str(), workspace.read("d/n.txt").as_str()),
        ("fn a() {\n    3\n}\n", "new\n")
    );
    assert_eq!(workspace.read("bin/run"), "two\n");
    assert_eq!(fs::metadata(root.join("bin/run")).unwrap().permissions().mode() & 0o777, 0o755);
    assert!(!root.join("old").exists() && !root.join("run.sh").exists());
}

#[test]
fn a_patch_that_cannot_be_written_is_taken_back() {
    let workspace = workspace();
    let TestWorkspace { rig, root, .. } = &workspace;
    // The second file cannot be made: its folder is a file. Writes go in the order of the paths.
    let patch =
        "*** Begin Patch\n*** Update File: src/a.rs\n-    1\n+    2\n*** Add File: src/a.rs/z\n+x\n*** End Patch";
    assert!(rig.refusal("apply_patch", json!({ "patch": patch })).contains("no file was changed"));
    assert_eq!(workspace.read("src/a.rs"), "fn a() {\n    1\n}\n");
    let left: Vec<_> = fs::read_dir(root.join("src")).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(left, ["a.rs"]);
}

#[test]
fn a_patch_touches_only_files_that_guards_see() {
    let TestWorkspace { rig, .. } = &workspace();
    let hidden = "*** Begin Patch\n***  Delete File: src/a.rs\n*** End Patch";
    rig.refusal("apply_patch", json!({ "patch": hidden }));
    assert!(rig.text("read_file", json!({"path": "src/a.rs"})).contains("fn a()"));
}

#[test]
fn listings_are_sorted_bounded_and_leave_out_what_git_ignores() {
    use std::os::unix::ffi::OsStrExt;
    let TestWorkspace { rig, root, .. } = &workspace();
    fs::write(root.join(".gitignore"), "target\n*.log\n").unwrap();
    fs::create_dir_all(root.join(".git/objects")).unwrap();
    fs::create_dir_all(root.join("target/debug")).unwrap();
    fs::create_dir_all(root.join("src/deep/deeper")).unwrap();
    fs::write(root.join("x.log"), "").unwrap();
    fs::write(root.join(std::ffi::OsStr::from_bytes(b"z\xff")), "").unwrap();
    let text = rig.text("list_files", json!({}));
    assert!(
        text.starts_with(".gitignore\nsrc/\nsrc/a.rs\nsrc/deep/\nz\u{fffd}\n[5 entries, 2 levels deep.]"),
        "{text}"
    );
    assert!(rig.text("list_files", json!({"path": "src", "depth": 1})).starts_with("a.rs\ndeep/\n"));
    assert!(rig.text("list_files", json!({"path": "src/deep/deeper"})).contains("holds nothing"));
    for index in 0..1_100 {
        fs::write(root.join(format!("src/deep/f{index}")), "").unwrap();
    }
    let text = rig.text("list_files", json!({"path": "src/deep"}));
    assert!(text.contains("Only the first 1000 entries"), "{}", text.len());
}

#[test]
fn outputs_that_were_kept_can_be_read_and_nothing_else_of_the_data() {
    let TestWorkspace { rig, .. } = &workspace();
    let data = rig.folders().data.clone();
    fs::create_dir_all(data.join("outputs")).unwrap();
    fs::write(data.join("outputs/call.txt"), "all of it\n").unwrap();
    fs::write(data.join("token"), "secret").unwrap();
    symlink(data.join("token"), data.join("outputs/link")).unwrap();
    let read = |path: &Path| rig.call("read_file", json!({"path": path.to_str().unwrap()}));
    assert!(read(&data.join("outputs/call.txt")).unwrap().text.contains("all of it"));
    for path in ["token", "outputs/../token", "outputs/link"] {
        assert!(read(&data.join(path)).is_err(), "{path}");
    }
    assert!(rig.call("write_file", json!({"path": data.join("outputs/x").to_str().unwrap(), "content": ""})).is_err());
}

#[test]
fn edits_at_the_same_time_lose_nothing() {
    let workspace = workspace();
    let lines: String = (0..40).map(|index| format!("line {index:02}\n")).collect();
    workspace.rig.text("write_file", json!({"path": "shared", "content": lines}));
    std::thread::scope(|scope| {
        for part in 0..4 {
            let (tool, context) = (workspace.rig.tool("edit_file"), workspace.rig.context(&workspace.root));
            scope.spawn(move || {
                for index in (part * 10)..(part * 10 + 10) {
                    let edit = json!({"path": "shared", "old_text": format!("line {index:02}"), "new_text": format!("done {index:02}")});
                    dispatch_support::block_on(tool.call(object(edit), context.clone())).unwrap();
                }
            });
        }
    });
    assert_eq!(workspace.read("shared").matches("done").count(), 40);
}
