//! The hot path: one short process per hook event, which always answers.
//!
//! On Unix the C library calls us directly. What Rust's own start does first (reading the memory map to
//! find the stack's guard page, a second signal stack) takes longer than judging a tool call. Memory comes from
//! a block of the program itself for the same reason.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests set up and look at real files and processes"))]
#![cfg_attr(unix, no_main)]

use std::ffi::OsString;

use dispatch_os::arena;
use ext_hook_pipeline::contract::{UserScripts, native_modules, serve_command_line};

#[global_allocator]
static MEMORY: arena::ArenaAllocator = arena::ArenaAllocator;

/// Memory for Rust and for the parser of commands comes from the arena from now on.
fn use_arena() {
    arena::own();
    #[allow(unsafe_code, reason = "the parser takes C functions")]
    // SAFETY: nothing was parsed yet, so no block of another allocator can reach these functions.
    unsafe {
        tree_sitter::set_allocator(Some(tree_sitter::Allocator {
            malloc: arena::allocate,
            calloc: arena::allocate_zeroed,
            realloc: arena::reallocate,
            free: arena::release,
        }));
    }
}

fn answer(arguments: impl IntoIterator<Item = OsString>) -> ! {
    let mut modules = native_modules();
    modules.push(ext_intents::contract::module());
    serve_command_line(arguments, &modules, Some(&UserScripts::default()))
}

#[cfg(not(unix))]
fn main() {
    use_arena();
    answer(dispatch_os::environment::arguments())
}

#[cfg(unix)]
#[allow(unsafe_code, reason = "the C library calls the entry point by this name")]
#[unsafe(no_mangle)]
extern "C" fn main(count: std::ffi::c_int, words: *const *const std::ffi::c_char) -> std::ffi::c_int {
    dispatch_os::start::prepare();
    use_arena();
    #[allow(unsafe_code, reason = "the C library's arguments are pointers")]
    // SAFETY: these are the count and the words as the C library gives them to `main`, and they live on.
    let arguments = unsafe { dispatch_os::start::arguments(count, words) };
    answer(arguments)
}
