//! The agent ledger: sessions, turns, messages and tool calls as an append-only log.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests set up and look at real files and processes"))]

pub mod contract;
mod extension;
mod removal;
mod schema;
mod search;
mod store;

pub use extension::extension;
