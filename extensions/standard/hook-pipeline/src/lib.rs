//! The hook pipeline: what a host fires, what is decided about it, and what is kept of it.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests set up and look at real files and processes"))]

mod call_outcomes;
mod config;
pub mod contract;
mod delivery;
#[cfg(feature = "extension")]
mod extension;
mod followup;
mod manifest;
mod memory;
#[cfg(feature = "scripts")]
mod module_trial;
mod modules;
mod neo4j;
mod own_rules;
mod pipeline;
mod plan;
mod process;
mod prose;
mod report;
mod rule_trust;
mod run;
#[cfg(test)]
mod schema;
#[cfg(feature = "scripts")]
mod script_module;
mod session_access;
mod session_files;
mod session_settings;
#[cfg(test)]
mod test_session;
#[cfg(feature = "scripts")]
mod user_scripts;
mod watch;
mod work_layout;

#[cfg(feature = "extension")]
pub use extension::extension;
