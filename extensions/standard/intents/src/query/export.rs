//! The ledger in forms that other programs read.

mod agent_trace;
mod csv;

pub use agent_trace::{Snapshot, agent_trace};
pub use csv::{header, row};
