//! Intents: every change belongs to a declared one, stays in the files that it owns, and leaves a verifiable entry.

pub mod chain;
pub mod contract;
pub mod entry;
pub mod error;
pub mod hash;
pub mod intent;
pub mod layout;
pub mod ledger;
mod local;
pub mod query;
