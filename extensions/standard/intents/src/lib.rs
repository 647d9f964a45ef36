//! Intents: every change belongs to a declared intent, stays in the files that the intent owns, and leaves a verifiable
//! entry in a ledger.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests set up and look at real files and processes"))]

#[cfg(feature = "extension")]
mod agent_tools;
mod call_recording;
mod call_targets;
mod calls_in_flight;
mod chain;
mod claims;
mod content_store;
pub mod contract;
#[cfg(any(test, feature = "count"))]
mod curate;
mod declared_intents;
mod error;
#[cfg(feature = "extension")]
mod extension;
mod free_paths;
mod gate;
mod hash;
mod intent;
mod intent_file;
mod intent_map;
mod intent_workspace;
mod layout;
mod ledger;
mod line_changes;
mod line_comparison;
mod local_folder;
mod module;
mod mutation_class;
mod query;
mod scope;
mod settings;
mod status;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
#[cfg(feature = "count")]
mod tokens;
mod trace_entry;
mod working_tree;

#[cfg(feature = "extension")]
pub use extension::extension;
