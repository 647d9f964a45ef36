//! The `dispatch` executable: the bundled extensions and nothing else.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests set up and look at real files and processes"))]

use std::process::ExitCode;

fn main() -> ExitCode {
    dispatch::App::new().run()
}
