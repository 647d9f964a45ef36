//! The binary is built and run: the extension is one of its own, and its command answers.

use std::process::{Command, Output};

fn run(home: &std::path::Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_my-dispatch"));
    command.args(arguments).current_dir(home).env_clear().env("HOME", home).env("DISPATCH_HOME", home);
    command.output().expect("the binary starts")
}

#[test]
fn the_extension_is_listed_and_its_command_answers() {
    let home = tempfile::tempdir().expect("a folder");
    let listed = run(home.path(), &["ext", "list", "--json"]);
    let listed: serde_json::Value = serde_json::from_slice(&listed.stdout).expect("JSON");
    let own = listed.as_array().expect("a list").iter().find(|line| line["id"] == "word-count");
    assert_eq!(own.map(|line| &line["state"]), Some(&"active".into()), "{listed}");
    let counted = run(home.path(), &["run", "count", "one two", "three"]);
    assert_eq!(String::from_utf8_lossy(&counted.stdout), "3\n", "{counted:?}");
}
