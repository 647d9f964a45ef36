//! Intents: every change belongs to a declared one, stays in the files that it owns, and leaves a verifiable entry.

pub mod calls;
pub mod chain;
pub mod claims;
pub mod contents;
pub mod contract;
pub mod curate;
pub mod declared;
pub mod entry;
pub mod error;
pub mod file;
pub mod gate;
pub mod hash;
pub mod intent;
pub mod layout;
pub mod ledger;
pub mod line_changes;
mod local;
pub mod map;
pub mod module;
pub mod mutation;
pub mod query;
pub mod reach;
mod record;
pub mod scope;
pub mod settings;
pub mod status;
#[cfg(feature = "count")]
pub mod tokens;
pub mod tree;

pub use module::{Intents, with_intents};
