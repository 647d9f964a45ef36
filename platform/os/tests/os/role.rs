//! The other processes of a test: this test binary, started again in one role.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdout, Command, Stdio};

const ROLE: &str = "DISPATCH_OS_TEST_ROLE";
const ARGUMENT: &str = "DISPATCH_OS_TEST_ARGUMENT";

/// A command that runs the role in another process.
pub fn command(role: &str, argument: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "role::run", "--nocapture", "--test-threads=1"])
        .env(ROLE, role)
        .env(ARGUMENT, argument)
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    command
}

/// A running role and the lines it says.
pub struct RoleProcess {
    pub child: Child,
    lines: BufReader<ChildStdout>,
}

impl RoleProcess {
    pub fn start(role: &str, argument: &str) -> Self {
        let mut child = command(role, argument).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Self { child, lines }
    }

    /// The rest of the next line that starts with `!`, which tells a role's words from the test harness's.
    pub fn hear(&mut self) -> String {
        let mut line = String::new();
        loop {
            line.clear();
            assert!(self.lines.read_line(&mut line).unwrap() > 0, "the role ended without a word");
            if let Some((_, word)) = line.trim_end().split_once('!') {
                return word.to_owned();
            }
        }
    }

    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for RoleProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Says a line to the test that started this role.
pub fn say(word: impl std::fmt::Display) {
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "!{word}").unwrap();
    stdout.flush().unwrap();
}

/// Stays until the process is killed.
pub fn stay() -> ! {
    loop {
        std::thread::park();
    }
}

/// Everything a role wrote until its end, with its exit code.
pub fn output_of(role: &str, argument: &str) -> (String, Option<i32>) {
    let mut child = command(role, argument).spawn().unwrap();
    let mut output = String::new();
    child.stdout.take().unwrap().read_to_string(&mut output).unwrap();
    (output, child.wait().unwrap().code())
}

/// Runs the role; a failure in it fails the test.
pub fn must_succeed(role: &str, argument: &str) {
    let (output, code) = output_of(role, argument);
    assert_eq!(code, Some(0), "{role} said: {output}");
}

/// Does nothing unless this process was started for a role.
#[test]
fn run() {
    let Ok(role) = std::env::var(ROLE) else {
        return;
    };
    let argument = std::env::var(ARGUMENT).unwrap();
    match role.as_str() {
        "alarm" => super::alarm::role(&argument),
        "append" => super::append::role(&argument),
        "append-limited" => super::append::limited_role(&argument),
        "environment" => super::process::environment_role(),
        "flood" => super::process::flood_role(),
        "leaks" => super::process::leak_role(),
        "guarded-parent" => super::guardian::parent_role(),
        "hold-lock" => super::lock::hold_role(&argument),
        "count-under-lock" => super::lock::count_role(&argument),
        "marked-parent" => super::marker::parent_role(&argument),
        "nested-observer" => super::observe::nested_role(&argument),
        "read-only" => super::replace::read_only_role(&argument),
        "parent" => super::tree::parent_role(),
        "recorded-parent" => super::sweep::parent_role(&argument),
        "writing-parent" => super::observe::writing_parent_role(&argument),
        other => panic!("no role {other}"),
    }
}
