//! The agent ledger: sessions, turns, messages and tool calls as an append-only log.

pub mod contract;
mod extension;
mod removal;
mod schema;
mod search;
mod store;

pub use extension::extension;
