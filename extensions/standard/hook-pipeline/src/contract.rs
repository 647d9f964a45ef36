//! What another extension may use of the pipeline: everything a module is made of.

pub use crate::action::{Artifact, ContextNote, Decision, EmittedRecord, FileWrite, HookAction, WriteMode};
pub use crate::clock::Clock;
pub use crate::context::{
    Capabilities, Context, Effects, Exception, Feature, Ids, LogLevel, MAIN_AGENT, Notes, Paths, SessionView, Timers,
};
pub use crate::event::{EventName, HookEvent, sid};
pub use crate::manifest::Unattended;
pub use crate::module::{Module, ModuleError};
pub use crate::modules::{ToolOutcome, is_handshake_only, is_own_mcp_tool, tool_outcome};
pub use crate::record::{Record, RecordType};
pub use crate::run::find_workspace;
pub use crate::state::State;
#[cfg(any(test, feature = "testing"))]
pub use crate::testing;
