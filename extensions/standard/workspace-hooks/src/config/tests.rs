//! The files as they are edited: what is read again, what is kept.

use super::*;
use std::fs;

struct EditedFiles {
    folder: tempfile::TempDir,
    config: HookConfig,
}

fn edited() -> EditedFiles {
    let folder = tempfile::tempdir().unwrap();
    let workspace = folder.path().join("workspace");
    fs::create_dir_all(workspace.join(".akira")).unwrap();
    fs::create_dir_all(folder.path().join("settings")).unwrap();
    let config = HookConfig::new(&workspace, &folder.path().join("settings"), &folder.path().join("state"));
    EditedFiles { folder, config }
}

impl EditedFiles {
    fn write(&self, text: &str) {
        fs::write(self.config.workspace_file(), text).unwrap();
    }

    fn write_global(&self, text: &str) {
        fs::write(self.folder.path().join("settings/hooks.json"), text).unwrap();
    }

    fn ids(&self) -> Vec<&str> {
        self.config.written().hooks.iter().map(|it| it.hook.id.as_str()).collect()
    }
}

fn file_of(ids: &[&str]) -> String {
    let hooks: Vec<_> =
        ids.iter().map(|id| serde_json::json!({"id": id, "trigger": "manual", "prompt": "p"})).collect();
    serde_json::json!({ "hooks": hooks }).to_string()
}

#[test]
fn an_edit_is_seen_and_a_wrong_one_keeps_what_was_valid() {
    let mut edited = edited();
    assert_eq!(edited.config.refresh(), Refreshed::Changed, "the first look");
    assert_eq!((edited.ids().len(), edited.config.written().problems.len()), (0, 0), "no file is no problem");

    edited.write(&file_of(&["a", "b"]));
    assert_eq!(edited.config.refresh(), Refreshed::Changed);
    assert_eq!(edited.ids(), ["a", "b"]);
    assert_eq!(edited.config.refresh(), Refreshed::Same, "the same content is not judged again");

    edited.write("{");
    assert_eq!(edited.config.refresh(), Refreshed::Changed);
    assert_eq!(edited.ids(), ["a", "b"], "the last valid ones stay");
    assert_eq!(edited.config.written().problems.len(), 1);
    assert_eq!((edited.config.written().valid, edited.config.written().counted), (0, 0));

    edited.write(&file_of(&["c"]));
    edited.config.refresh();
    assert_eq!((edited.ids(), edited.config.written().problems.len()), (vec!["c"], 0));

    fs::remove_file(edited.config.workspace_file()).unwrap();
    assert_eq!(edited.config.refresh(), Refreshed::Changed);
    assert!(edited.ids().is_empty(), "who removes the file wants no hooks");
}

#[test]
fn two_edits_of_one_moment_are_both_seen() {
    let mut edited = edited();
    for round in 0..50 {
        let id = format!("{:02}", round);
        edited.write(&file_of(&[&id]));
        edited.config.refresh();
        assert_eq!(edited.ids(), [id.as_str()]);
    }
}

#[test]
fn ids_are_unique_in_both_files_and_each_file_stands_alone() {
    let mut edited = edited();
    edited.write_global(&file_of(&["mine", "both"]));
    edited.write(&file_of(&["both", "theirs"]));
    edited.config.refresh();
    assert_eq!(edited.ids(), ["mine", "both"], "a file that came from elsewhere cannot push out the user's own");
    let problems = &edited.config.written().problems;
    assert_eq!((problems.len(), problems[0].rule.as_str(), problems[0].file.as_str()), (1, "duplicate-id", SHOWN));

    edited.write_global("[");
    edited.write(&file_of(&["theirs"]));
    edited.config.refresh();
    assert_eq!(edited.ids(), ["mine", "both", "theirs"]);
    assert!(edited.config.written().problems[0].file.ends_with("hooks.json"));
}

#[test]
fn the_global_patterns_count_for_every_hook_and_change_no_fingerprint() {
    let mut edited = edited();
    edited.write(&file_of(&["a"]));
    edited.config.refresh();
    let before = Arc::clone(&edited.config.written().hooks[0].hook);
    edited.write_global(r#"{"secretPatterns": ["k-[0-9]+"], "hooks": []}"#);
    edited.config.refresh();
    let after = &edited.config.written().hooks[0].hook;
    assert_eq!(after.secret_patterns, ["k-[0-9]+"]);
    assert_eq!(after.fingerprint, before.fingerprint);
}

#[test]
fn what_is_no_file_is_a_problem() {
    let mut edited = edited();
    fs::create_dir(edited.config.workspace_file()).unwrap();
    edited.config.refresh();
    assert_eq!(edited.config.written().problems[0].rule, "unreadable");
    fs::remove_dir(edited.config.workspace_file()).unwrap();
    edited.write(&" ".repeat(4 * 1024 * 1024 + 1));
    edited.config.refresh();
    assert_eq!(edited.config.written().problems[0].rule, "unreadable");
}

#[test]
fn a_repository_is_known_by_its_real_name() {
    let mut edited = edited();
    let workspace = edited.folder.path().join("workspace");
    fs::create_dir(workspace.join("repo")).unwrap();
    edited.write(
        r#"{"hooks": [{"id": "a", "trigger": "gitCommit", "prompt": "p", "allowGit": true, "repoRoot": "x/../repo/."}]}"#,
    );
    edited.config.refresh();
    assert_eq!(edited.config.written().problems[0].rule, "git-safety", "`x` does not exist");
    edited.write(
        r#"{"hooks": [{"id": "a", "trigger": "gitCommit", "prompt": "p", "allowGit": true, "repoRoot": "repo/../repo"}]}"#,
    );
    edited.config.refresh();
    let expected = workspace.join("repo").canonicalize().unwrap();
    assert_eq!(edited.config.written().hooks[0].hook.repo_root.as_deref(), expected.to_str());
}

#[test]
fn a_process_that_starts_during_an_invalid_edit_knows_the_last_valid_hooks() {
    let mut edited = edited();
    edited.write(&file_of(&["a"]));
    edited.config.refresh();
    edited.write(&file_of(&["b"]));
    let at = |name: &str| edited.folder.path().join(name);
    let other = || HookConfig::new(&at("workspace"), &at("settings"), &at("state"));
    other().refresh();
    edited.write("{");
    let mut late = other();
    late.refresh();
    let ids =
        |config: &HookConfig| -> Vec<String> { config.written().hooks.iter().map(|it| it.hook.id.clone()).collect() };
    assert_eq!((ids(&late), late.written().problems.len()), (vec!["b".to_owned()], 1));
    edited.config.refresh();
    assert_eq!(ids(&edited.config), ["b"], "what another process found valid last counts here too");
}
