//! The `dispatch` application as a library, so that one line makes a binary with more extensions:
//! `dispatch::App::new().extension(my::extension()).run()`.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests set up and look at real files and processes"))]

mod app;
mod args;
mod commands;
mod compose;
mod development;
mod disabled_file;
mod dry_run;
mod extension_choice;
mod extension_reload;
mod external_extensions;
mod failure;
mod git_hook_file;
mod git_hooks;
mod idle_memory;
mod log_file;
mod paint;
mod plain;
mod policy_change;
mod ports;
mod printer;
mod running;
mod schemas;
mod settings;
mod stopping;
mod text_diff;
mod time_span;
mod workspace;

pub use app::App;
pub use compose::bundled;
