//! A tool that runs commands, with no child that outlives the program.
//!
//! A command runs in the foreground until it ends, its time is up or the call is cancelled; or in the
//! background, where it is asked for by its id. Either way a guardian process adopts everything it starts
//! and kills that when the command ends and when this program dies; records on disk let the next start end
//! what even the guardian could not. Of the environment only an allow-list reaches a command.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests set up and look at real files and processes"))]

mod background;
mod closed_folders;
pub mod contract;
mod extension;
mod foreground;
mod settings;
mod shared;
mod shell;
mod tool_errors;
mod tools;
mod transcript;

pub use extension::extension;
