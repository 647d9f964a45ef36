//! What apps and other extensions may use of the pipeline. A module needs `dispatch-hook-module` alone.

pub use crate::config::{Config, PromptAudit};
#[cfg(feature = "extension")]
pub use crate::extension::{ModuleSource, extension_with};
pub use crate::manifest::{DEFAULT_MODULES, MANIFEST_LIMIT_BYTES, ModuleEntry, PipelineManifest};
pub use crate::modules::{WorkspaceResults, native_modules};
pub use crate::pipeline::{ModuleEnvironment, PHASE_GATE, Slot, Stamps, fold};
pub use crate::process::{Arguments, serve};
pub use crate::report::{DecisionReport, ModuleReport, ToolReport};
pub use crate::run::{FoundScript, Invocation, Outcome, Past, ScriptModules, event_of, judge, run};
#[cfg(feature = "scripts")]
pub use crate::script_module::{ScriptCache, Scripts};
pub use crate::session_files::{
    Batch, DiskView, FilesError, Journal, STATE_LOCK, SessionFolder, next_run_ms, read_state, rebuild_state,
};
#[cfg(feature = "scripts")]
pub use crate::user_scripts::UserScripts;
pub use crate::watch::Unwatched;

/// Reminders: the rules of `followup-rules.json`.
pub mod followup {
    pub use crate::followup::*;
}

/// What sessions learned: candidates, and rules made of them.
pub mod memory {
    pub use crate::memory::*;
}

/// Whether the graph database answers.
pub mod neo4j {
    pub use crate::neo4j::*;
}

/// The plan of a piece of work, and its progress.
pub mod plan {
    pub use crate::plan::*;
}

/// The JSON Schemas of what goes in and out.
#[cfg(any(test, feature = "schema"))]
pub mod schema {
    pub use crate::schema::*;
}
