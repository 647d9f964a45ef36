//! The ledger in formats of other programs.

mod agent_trace;
mod csv;

pub(crate) use agent_trace::{ExportContext, agent_trace};
pub(crate) use csv::{header, row};
