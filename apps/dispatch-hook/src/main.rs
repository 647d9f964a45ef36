//! The hot path: one short process per hook event, which always answers.
//!
//! On Unix the C library calls us directly. What Rust's own start does first (reading the memory map to
//! find the stack's guard page, a second signal stack) takes longer than judging a tool call.

#![cfg_attr(unix, no_main)]

use std::ffi::OsString;

use ext_hook_pipeline::modules::native_modules;
use ext_hook_pipeline::process::{Arguments, serve};
use ext_hook_pipeline::user_scripts::UserScripts;
use ext_intents::with_intents;

fn answer(arguments: impl IntoIterator<Item = OsString>) -> ! {
    let arguments = Arguments::read(arguments);
    serve(&arguments, &with_intents(native_modules()), Some(&UserScripts::default()))
}

#[cfg(not(unix))]
fn main() {
    answer(dispatch_os::env::arguments())
}

#[cfg(unix)]
#[allow(unsafe_code, reason = "the C library calls the entry point by this name")]
#[unsafe(no_mangle)]
extern "C" fn main(count: std::ffi::c_int, words: *const *const std::ffi::c_char) -> std::ffi::c_int {
    dispatch_os::start::prepare();
    #[allow(unsafe_code, reason = "the C library's arguments are pointers")]
    // SAFETY: these are the count and the words as the C library gives them to `main`, and they live on.
    let arguments = unsafe { dispatch_os::start::arguments(count, words) };
    answer(arguments)
}
