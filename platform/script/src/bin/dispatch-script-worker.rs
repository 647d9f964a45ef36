//! A script worker as a separate program; larger programs call `worker_main` from a subcommand instead.

use std::process::ExitCode;

fn main() -> ExitCode {
    match dispatch_script::worker_main(std::io::stdin(), std::io::stdout()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}
