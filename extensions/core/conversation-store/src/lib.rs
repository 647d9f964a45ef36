//! The agent ledger: sessions, turns, messages and tool calls as an append-only log.

pub mod contract;
