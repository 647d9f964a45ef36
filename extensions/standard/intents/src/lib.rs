//! Intents: every change belongs to a declared one, stays in the files that it owns, and leaves a verifiable entry.

pub mod chain;
pub mod contract;
pub mod curate;
pub mod entry;
pub mod error;
pub mod file;
pub mod hash;
pub mod intent;
pub mod layout;
pub mod ledger;
mod local;
pub mod status;
#[cfg(feature = "count")]
pub mod tokens;
