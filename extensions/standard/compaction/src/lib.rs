//! Summarises the beginning of a conversation that no longer fits its model.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests set up and look at real files and processes"))]

mod compaction_store;
pub mod contract;
mod extension;
mod fitting_provider;
mod plan;
mod settings;
mod shorten;
mod size;
mod summary;

pub use extension::extension;
