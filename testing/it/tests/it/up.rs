//! The first command of a new user.

use dispatch_support::TestContext;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

const REHEARSAL: [&str; 2] = ["--set", "model.provider=rehearsal"];

#[test]
fn it_prepares_a_fresh_machine_and_says_what_is_next() {
    let context = TestContext::new();
    let output = context.dispatch(&[&REHEARSAL[..], &["up", "--no-serve"]].concat());
    assert_eq!(output.status, 0, "{output:?}");
    for part in ["(written; every line in it is a comment)", "model     rehearsal: ", "`dispatch chat`"] {
        assert!(output.stderr.contains(part), "{part:?} is missing in {output:?}");
    }
    let file = context.home().join("config/dispatch.toml");
    std::fs::write(&file, "[log]\nlevel = \"warn\"\n").unwrap();
    let again = context.dispatch(&[&REHEARSAL[..], &["up", "--no-serve", "--json"]].concat()).json();
    assert_eq!((&again["healthy"], &again["settings"]["written"]), (&true.into(), &false.into()));
    assert_eq!(again["model"]["provider"], "rehearsal");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "[log]\nlevel = \"warn\"\n");
}

#[test]
fn it_starts_the_server_unless_something_is_wrong() {
    let context = TestContext::new();
    let mut command = context.command("dispatch");
    command.args(REHEARSAL).args(["up", "--listen", "127.0.0.1:0"]);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(line.starts_with("listening on http://127.0.0.1:"), "{line}");
    context.write_home("dispatch.db", "this is no database, but it is long enough to be taken for one");
    let output = context.dispatch(&[&REHEARSAL[..], &["up"]].concat());
    assert_eq!(output.status, 3, "{output:?}");
    assert!(output.stderr.contains("WRONG: storage"), "{output:?}");
}
