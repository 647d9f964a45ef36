//! The executable starts. Having an integration test here also makes cargo build it for `testing/it`.

#![allow(clippy::disallowed_methods, reason = "tests set up and look at real files and processes")]

use std::process::Command;

#[test]
fn the_program_says_its_version() {
    let output = Command::new(env!("CARGO_BIN_EXE_dispatch")).arg("--version").output().unwrap();
    let expected = format!("dispatch {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(String::from_utf8_lossy(&output.stdout), expected);
}
