//! A tool that keeps the model's list of what is left to do.
//!
//! Each session has one list. It is kept in the extension's store, so that it survives a restart; where no
//! storage is active, or it fails, in memory.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests set up and look at real files and processes"))]

pub mod contract;
mod extension;
mod list;
mod memory;
mod tool;

pub use extension::extension;
