//! `dispatch hook`: the same answer as `dispatch-hook`, from the large executable.

use dispatch_os::env;
use ext_hook_pipeline::modules::native_modules;
use ext_hook_pipeline::process::{Arguments, serve};
use ext_hook_pipeline::user_scripts::UserScripts;
use ext_intents::with_intents;

/// Answers the event on standard input and ends the process.
pub(crate) fn run() -> ! {
    let arguments = Arguments::read(env::arguments().skip(1));
    serve(&arguments, &with_intents(native_modules()), Some(&UserScripts::default()))
}
