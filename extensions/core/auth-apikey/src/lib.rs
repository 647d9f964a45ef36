//! Finds API keys in the environment, the keyring or an owner-only file, each for one server alone.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests set up and look at real files and processes"))]
#![forbid(unsafe_code)]

mod api_keys;
mod audience;
pub mod contract;
mod error;
mod extension;
mod key_file;
mod key_store;
mod keyring;
mod off_thread;
mod variables;
mod vault;

pub use extension::extension;
