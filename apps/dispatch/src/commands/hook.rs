//! `dispatch hook`: the same answer as `dispatch-hook`, from the large executable.

use crate::compose;
use dispatch_os::environment;
use ext_hook_pipeline::contract::{Arguments, UserScripts, serve};

/// Answers the event on standard input and ends the process.
pub(crate) fn run() -> ! {
    let arguments = Arguments::read(environment::arguments().skip(1));
    serve(&arguments, &compose::guards(), Some(&UserScripts::default()))
}
