//! What a module of the hook pipeline compiles against: the event it sees, the context it may ask, the action it
//! hands back, and the facts about itself.
//!
//! A module needs this crate and nothing of the pipeline that runs it.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests set up and look at real files and processes"))]

mod action;
mod classify;
mod clock;
mod context;
pub mod digest;
mod event;
mod module;
mod own_commands;
pub mod phase;
mod record;
#[cfg(feature = "service")]
pub mod service;
pub mod state;
mod system_clock;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod tool_outcome;
mod unattended;
mod workspace;

pub use action::{Artifact, ContextNote, Decision, EmittedRecord, FileWrite, HookAction, WriteMode};
pub use classify::classify;
pub use clock::{Clock, milliseconds};
pub use context::{
    Capabilities, Context, Effects, HOOKS_FOLDER, Ids, LAYOUT_LIMIT_BYTES, LAYOUT_NAME, LogLevel, LogLine, MAIN_AGENT,
    ModuleFolders, Neo4jCapability, Notes, Paths, RuleException, SessionView, Timers, USER_HOOKS_FOLDER, WORK_FOLDER,
    WORK_ID_DIGITS, WorkLayout, agent_key, hook_run_id, next_agent_id, next_work_id, work_number,
};
pub use event::{EventName, HookEvent, same_name, sid};
pub use module::{Module, ModuleError, ModuleSpec};
pub use own_commands::{OwnCommand, is_handshake_only, is_own_mcp_tool, own_command};
pub use record::{Record, RecordType};
pub use state::SessionState;
pub use system_clock::SystemClock;
pub use tool_outcome::{ToolOutcome, tool_outcome};
pub use unattended::Unattended;
pub use workspace::{find_workspace, has_rules, nearest_with_rules};
