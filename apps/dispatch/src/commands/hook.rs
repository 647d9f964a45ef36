//! `dispatch hook`: the same answer as `dispatch-hook`, from the large executable.

use crate::compose;
use dispatch_os::environment;
use ext_hook_pipeline::contract::{UserScripts, serve_command_line};

/// Answers the event on standard input and ends the process.
pub(crate) fn run() -> ! {
    serve_command_line(environment::arguments().skip(1), &compose::guards(), Some(&UserScripts::default()))
}
