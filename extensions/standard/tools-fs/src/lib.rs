//! Tools that read, write, edit and list files of the workspace.
//!
//! A file that the session has read and that changed since is not edited or overwritten: the model is told
//! to read it again. An existing file that the session has not read is not overwritten as a whole; an edit
//! or a patch of it is allowed, because it has to quote what it replaces. What was read is remembered in
//! memory, so after a restart a file has to be read again before it is overwritten.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests set up and look at real files and processes"))]

pub mod contract;
mod document;
mod edit;
mod extension;
mod file_workspace;
mod list;
mod nearest;
mod patch;
mod read;
mod replacement;
mod seen_files;
mod tool;
mod tool_errors;
mod write;

pub use extension::extension;
