//! Finds API keys in the environment, the keyring or an owner-only file, each for one server alone.

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
