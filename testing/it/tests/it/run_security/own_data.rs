//! Dispatch's own data folder, reached for by every tool: its token, its keys, its database.

use super::{contains, is_said, stepping};
use crate::run_workspace::RunWorkspace;
use crate::run_workspace::conversation::results;
use serde_json::{Value, json};
use std::os::unix::fs::symlink;

/// A secret that no pattern knows, so that nothing but the closed folder keeps it.
const CANARY: &str = "orchard-lantern-quiet";

fn attempts(data: &str) -> Vec<(&'static str, Value)> {
    let shell = |command: String| ("run_shell", json!({ "command": command }));
    let mut calls = vec![
        ("list_files", json!({ "path": data })),
        ("search_files", json!({"pattern": "orchard", "path": data})),
        ("find_files", json!({"pattern": "*", "path": data})),
        ("write_file", json!({"path": format!("{data}/token"), "content": "mine"})),
        ("run_shell", json!({"command": "cat keys.json", "workdir": data})),
        shell(format!("cat {data}/keys.json")),
        shell(format!("cat {data}/*.json")),
        shell(format!("cd {data} && cat keys.json")),
        shell(format!("cp {data}/keys.json stolen.txt; cat stolen.txt")),
        shell(format!("python3 -c \"print(open('{data}/keys.json').read())\"")),
        shell(format!("grep -r orchard {data}")),
        shell("cat \"$DISPATCH_HOME/keys.json\"".to_owned()),
    ];
    for path in ["keys.json", "token", "dispatch.db", "./config/../keys.json"] {
        calls.push(("read_file", json!({ "path": format!("{data}/{path}") })));
    }
    calls
}

fn by_links() -> Vec<(&'static str, Value)> {
    vec![
        ("read_file", json!({"path": "linked/keys.json"})),
        ("read_file", json!({"path": "keys-link"})),
        ("read_file", json!({"path": "keys-hard"})),
        ("search_files", json!({"pattern": "orchard"})),
        ("edit_file", json!({"path": "keys-hard", "old_text": "orchard", "new_text": "x"})),
        ("run_shell", json!({"command": "cat keys-link"})),
        ("run_shell", json!({"command": "cat keys-hard"})),
        ("run_shell", json!({"command": "cat linked/keys.json"})),
    ]
}

/// The folder that the agent works in holds the data folder, as a home folder does.
fn workspace_around_the_data(calls: impl Fn(&str) -> Vec<(&'static str, Value)>) -> RunWorkspace {
    let workspace = RunWorkspace::place(&[]);
    let (home, project) = (workspace.context.home(), workspace.context.project());
    let data = project.join("share/dispatch");
    std::fs::create_dir_all(&data).expect("a folder");
    // Both names are the same folder, and the one that the program knows is a link.
    std::fs::remove_dir_all(&home).expect("an empty home");
    symlink(&data, &home).expect("a link");
    workspace
        .context
        .write_home("keys.json", format!("{{\"version\":1,\"keys\":[],\"secrets\":{{\"x\":{{\"y\":\"{CANARY}\"}}}}}}"));
    std::fs::set_permissions(data.join("keys.json"), std::os::unix::fs::PermissionsExt::from_mode(0o600))
        .expect("a file");
    symlink(&data, project.join("linked")).expect("a link");
    symlink(data.join("keys.json"), project.join("keys-link")).expect("a link");
    std::fs::hard_link(data.join("keys.json"), project.join("keys-hard")).expect("a link");
    let calls = calls(&data.display().to_string());
    workspace.with(stepping(calls))
}

fn check(calls: impl Fn(&str) -> Vec<(&'static str, Value)> + Copy) {
    let workspace = workspace_around_the_data(calls);
    let keys = workspace.context.home().join("keys.json");
    let before = std::fs::read(&keys).expect("keys");
    let served = workspace.start();
    let token = std::fs::read_to_string(workspace.context.home().join("token")).expect("a token");
    assert_eq!(served.client.say("s", "look around")["reason"], "");
    let told = results(&workspace.model.requests().last().expect("a request").json());
    assert_eq!(told.len(), calls("").len(), "every call has an answer: {told:#?}");
    assert!(!is_said(&workspace.model, CANARY), "{told:#?}");
    assert!(!is_said(&workspace.model, token.trim()), "{told:#?}");
    assert_eq!(std::fs::read(&keys).expect("keys"), before, "{told:#?}");
    assert_eq!(std::fs::read_to_string(workspace.context.home().join("token")).expect("a token"), token);
    let refused = told.values().filter(|text| text.contains("Dispatch")).count();
    assert!(refused + 3 >= told.len(), "they are refused in words: {told:#?}");
    assert!(!contains(told.values().cloned().collect::<String>().as_bytes(), b"lantern"), "{told:#?}");
}

#[test]
fn no_tool_reaches_the_data_folder_by_its_path() {
    check(attempts);
}

#[test]
fn no_tool_reaches_the_data_folder_by_links() {
    check(|_| by_links());
}

#[test]
fn what_is_no_data_of_dispatch_is_read_as_before() {
    let workspace = workspace_around_the_data(|_| {
        vec![
            ("read_file", json!({"path": "notes.txt"})),
            ("run_shell", json!({"command": "cat notes.txt; ls"})),
            ("search_files", json!({"pattern": "ordinary"})),
        ]
    });
    workspace.context.write("notes.txt", "ordinary words\n");
    std::fs::hard_link(workspace.context.project().join("notes.txt"), workspace.context.project().join("second.txt"))
        .expect("a link");
    let served = workspace.start();
    assert_eq!(served.client.say("s", "look around")["reason"], "");
    let told = results(&workspace.model.requests().last().expect("a request").json());
    assert!(told.values().all(|text| text.contains("ordinary words")), "{told:#?}");
    assert!(told.values().any(|text| text.contains("second.txt")), "{told:#?}");
}
