//! The `dispatch` executable: the bundled extensions and nothing else.

use std::process::ExitCode;

fn main() -> ExitCode {
    dispatch::App::new().run()
}
