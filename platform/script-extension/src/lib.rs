//! Extensions from outside the program: finds their folders, checks them against what the user approved, and runs those
//! written in TypeScript, each in worker processes of its own, and those that are separate programs.
//!
//! A folder is read once, into memory. What is approved and what runs are these bytes, so a change of a file after the
//! check has no effect.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests set up and look at real files and processes"))]
#![forbid(unsafe_code)]

mod call_scope;
mod credential;
#[cfg(test)]
mod declared_types;
mod discovery;
mod extension;
mod fetch;
mod folder;
mod host_calls;
mod limits;
mod model_provider;
mod module_paths;
mod packages;
mod processes;
mod program;
mod questions;
mod recorded;
mod registered;
mod route;
mod service;
mod stored;
mod unit_test;
mod worker;
mod worker_pool;

pub use discovery::{Discovered, FoundExtension, FoundState, Place, SearchFolders, discover};
pub use extension::ScriptExtension;
pub use folder::{ExtensionFolder, FolderError, MANIFEST_FILE};
pub use unit_test::{UnitTestResult, run_unit_tests};
