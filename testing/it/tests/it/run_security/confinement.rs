//! Every tool that takes a path, asked by the model for what lies outside the workspace.

use super::{is_said, stepping};
use crate::run_workspace::RunWorkspace;
use crate::run_workspace::conversation::results;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

const CANARY: &str = "what-lies-outside";

/// Calls that each try to get at one path, by every tool that takes one.
fn attempts(folder: &str) -> Vec<(&'static str, Value)> {
    let file = format!("{folder}/diary.txt");
    let patch = format!("*** Begin Patch\n*** Update File: {file}\n@@\n-{CANARY}\n+overwritten\n*** End Patch");
    let added = format!("*** Begin Patch\n*** Add File: {folder}/new.txt\n+made\n*** End Patch");
    let removed = format!("*** Begin Patch\n*** Delete File: {file}\n*** End Patch");
    let diff = format!("--- a/{file}\n+++ b/{file}\n@@ -1 +1 @@\n-{CANARY}\n+overwritten\n");
    vec![
        ("read_file", json!({ "path": file })),
        ("list_files", json!({ "path": folder })),
        ("search_files", json!({"pattern": "what-", "path": folder})),
        ("find_files", json!({"pattern": "*", "path": folder})),
        ("write_file", json!({"path": file, "content": "overwritten"})),
        ("write_file", json!({"path": format!("{folder}/new.txt"), "content": "made"})),
        ("edit_file", json!({"path": file, "old_text": CANARY, "new_text": "overwritten"})),
        ("apply_patch", json!({ "patch": patch })),
        ("apply_patch", json!({ "patch": added })),
        ("apply_patch", json!({ "patch": removed })),
        ("apply_patch", json!({ "patch": diff })),
        ("run_shell", json!({"command": "cat diary.txt", "workdir": folder})),
    ]
}

/// What is in a folder, name by name.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let entries = std::fs::read_dir(folder).expect("a folder").flatten();
    entries.map(|entry| (entry.path(), std::fs::read(entry.path()).unwrap_or_default())).collect()
}

fn outside(workspace: &RunWorkspace) -> PathBuf {
    let folder = workspace.context.project().parent().expect("a parent").join("outside");
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("diary.txt"), format!("{CANARY}\n")).expect("a file");
    folder
}

#[test]
fn no_tool_leaves_the_workspace() {
    let ways = ["../outside", "sub/../../outside", "link", "sub/deep", "./link/../link", "ABSOLUTE"];
    for way in ways {
        let workspace = RunWorkspace::place(&[]);
        let place = outside(&workspace);
        let folder = way.replace("ABSOLUTE", &place.display().to_string());
        std::fs::create_dir_all(workspace.context.project().join("sub")).expect("a folder");
        symlink(&place, workspace.context.project().join("link")).expect("a link");
        symlink("../../outside", workspace.context.project().join("sub/deep")).expect("a link");
        let workspace = workspace.with(stepping(attempts(&folder)));
        let before = contents(&place);
        let served = workspace.start();
        assert_eq!(served.client.say("s", "look around")["reason"], "");
        let told = results(&workspace.model.requests().last().expect("a request").json());
        assert_eq!(told.len(), attempts("").len(), "{way}: every call has an answer");
        assert_eq!(contents(&place), before, "{way}: nothing outside has changed: {told:#?}");
        let leaked = told.values().any(|text| text.contains(&format!("{CANARY}\n")) || text.contains("diary.txt\n"));
        assert!(!leaked, "{way}: {told:#?}");
        assert!(told.values().all(|text| text.starts_with('[')), "{way}: each was refused or failed: {told:#?}");
    }
}

#[test]
fn a_folder_that_becomes_a_link_while_tools_use_it_leads_nowhere() {
    let round = [
        ("read_file", json!({"path": "swap/diary.txt"})),
        ("write_file", json!({"path": "swap/diary.txt", "content": "inside\n"})),
        ("list_files", json!({"path": "swap"})),
        ("search_files", json!({"pattern": "what-", "path": "swap"})),
        ("edit_file", json!({"path": "swap/diary.txt", "old_text": CANARY, "new_text": "overwritten"})),
    ];
    let calls: Vec<_> = (0..24).flat_map(|_| round.clone()).collect();
    let workspace = RunWorkspace::place(&[]);
    let place = outside(&workspace);
    let project = workspace.context.project();
    std::fs::create_dir_all(project.join("real")).expect("a folder");
    std::fs::write(project.join("real/diary.txt"), "inside\n").expect("a file");
    let workspace = workspace.with(stepping(calls));
    let before = contents(&place);
    let served = workspace.start();
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (swap, next) = (project.join("swap"), project.join("next"));
            while !over.load(Ordering::Relaxed) {
                for target in [project.join("real"), place.clone()] {
                    symlink(&target, &next).expect("a link");
                    std::fs::rename(&next, &swap).expect("a swap");
                }
            }
        });
        let view = served.client.say("s", "look around");
        over.store(true, Ordering::Relaxed);
        assert_eq!(view["state"], "done", "{view}");
    });
    assert_eq!(contents(&place), before, "nothing outside has changed");
    let told = results(&workspace.model.requests().last().expect("a request").json());
    assert!(told.len() > 50, "{}", told.len());
    assert!(!is_said(&workspace.model, &format!("{CANARY}\\n")), "{told:#?}");
}
