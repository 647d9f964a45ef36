//! `dispatch hook`: the same answer as `dispatch-hook`, from the large executable.

use crate::compose;
use ext_hook_pipeline::contract::{UserScripts, serve_command_line};
use std::ffi::OsString;

/// Answers the event on standard input, as the words say, and ends the process.
pub(crate) fn run(words: impl Iterator<Item = OsString>) -> ! {
    serve_command_line(words, &compose::guards(), Some(&UserScripts::default()))
}
