//! The hook pipeline: what a host fires, what is decided about it, and how the answer is spelled.

pub mod action;
pub mod answer;
pub mod clock;
pub mod config;
pub mod context;
pub mod contract;
mod deeds;
pub mod delivery;
pub mod dialect;
pub mod digest;
pub mod event;
#[cfg(feature = "extension")]
mod extension;
pub mod followup;
pub mod manifest;
pub mod memory;
pub mod module;
pub mod modules;
pub mod neo4j;
pub mod phase;
pub mod pipeline;
pub mod plan;
#[cfg(test)]
mod play;
pub mod process;
mod prose;
pub mod record;
pub mod register;
pub mod report;
pub mod run;
#[cfg(any(test, feature = "schema"))]
pub mod schema;
#[cfg(feature = "scripts")]
pub mod script_module;
pub mod session_files;
pub mod state;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
#[cfg(feature = "scripts")]
pub mod user_scripts;
pub mod watch;

pub use action::{Artifact, ContextNote, Decision, EmittedRecord, FileWrite, HookAction, WriteMode};
pub use answer::{Answer, Reply, Verdict};
pub use context::{Context, SessionView};
pub use dialect::{Dialect, Hints, InputError, ParseFailure, Parsed};
pub use event::{EventName, HookEvent};
#[cfg(feature = "extension")]
pub use extension::{ModuleSource, extension, extension_with};
pub use module::{Module, ModuleError};
pub use record::{Record, RecordType};
pub use report::DecisionReport;
pub use run::{Effects, Invocation, Outcome, run};
