//! The hook pipeline: what a host fires, what is decided about it, and how the answer is spelled.

mod call_outcomes;
pub mod config;
pub mod contract;
pub mod delivery;
#[cfg(feature = "extension")]
mod extension;
pub mod followup;
pub mod manifest;
pub mod memory;
pub mod modules;
pub mod neo4j;
pub mod pipeline;
pub mod plan;
pub mod process;
mod prose;
pub mod report;
pub mod run;
#[cfg(any(test, feature = "schema"))]
pub mod schema;
#[cfg(feature = "scripts")]
pub mod script_module;
pub mod session_files;
mod session_settings;
#[cfg(test)]
mod test_session;
#[cfg(feature = "scripts")]
pub mod user_scripts;
pub mod watch;

#[cfg(feature = "extension")]
pub use extension::{ModuleSource, extension, extension_with};
pub use report::DecisionReport;
pub use run::{Invocation, Outcome, run};
