//! The hot path: one short process per hook event, which always answers.

use dispatch_os::env;
use ext_hook_pipeline::modules::native_modules;
use ext_hook_pipeline::process::{Arguments, serve};
use ext_hook_pipeline::user_scripts::UserScripts;
use ext_intents::with_intents;

fn main() {
    let arguments = Arguments::read(env::arguments());
    serve(&arguments, &with_intents(native_modules()), Some(&UserScripts::default()));
}
