//! Intents: every change belongs to a declared one, stays in the files that it owns, and leaves a verifiable entry.

pub mod chain;
pub mod contents;
pub mod contract;
pub mod declared;
pub mod entry;
pub mod error;
pub mod gate;
pub mod hash;
pub mod intent;
pub mod layout;
pub mod ledger;
pub mod line_changes;
mod local;
pub mod mutation;
pub mod query;
pub mod reach;
pub mod scope;
