//! Whether the graph database answers: checked rarely, in bounded time, and not before a tool call.

mod address;
mod bolt;
mod error;
mod freshness;
mod probe;
mod report;
mod settings;

#[cfg(test)]
pub(crate) mod tests;

pub use freshness::{FRESH_MS, ProbeDecision, decide_probe, probe_time_limit};
pub use probe::probe;
pub use report::{ProbeReport, SECTION};
pub use settings::is_configured;
