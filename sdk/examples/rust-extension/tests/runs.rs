//! The binary is built and run: the extension is one of its own, and its command answers.

use std::process::Command;

#[test]
fn the_extension_is_listed_and_its_command_answers() {
    let home = tempfile::tempdir().expect("a folder");
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_my-dispatch"));
        command.args(arguments).current_dir(home.path()).env_clear();
        command.env("HOME", home.path()).env("DISPATCH_HOME", home.path()).output().expect("the binary starts")
    };
    let listed: serde_json::Value = serde_json::from_slice(&run(&["ext", "list", "--json"]).stdout).expect("JSON");
    let own = listed.as_array().expect("a list").iter().find(|line| line["id"] == "word-count");
    assert_eq!(own.map(|line| &line["state"]), Some(&"active".into()), "{listed}");
    let counted = run(&["run", "count", "one two", "three"]);
    assert_eq!(String::from_utf8_lossy(&counted.stdout), "3\n", "{counted:?}");
}
