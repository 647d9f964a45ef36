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

#[cfg(test)]
pub(crate) use freshness::FRESH_MS;
pub(crate) use freshness::{ProbeDecision, decide_probe, probe_time_limit};
pub(crate) use probe::probe;
pub use probe::probe_configured;
pub use report::ProbeReport;
pub(crate) use report::SECTION;
