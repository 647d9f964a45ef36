//! A binary of one's own: everything that Dispatch is, and one extension more.

mod word_count;

use std::process::ExitCode;

fn main() -> ExitCode {
    dispatch::App::new().extension(word_count::extension()).run()
}
