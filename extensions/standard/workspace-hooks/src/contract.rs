//! What the rest of the program knows of workspace hooks: the hooks, the events that start them, the runs.

mod event;
mod hook;
mod hook_set;
mod run;
mod runs;
mod trigger;
mod usage;

pub use event::{Change, ContentHash, Event, FileChange, Source};
pub use hook::{
    Action, AgentPermissions, AgentTemplate, Budget, Hook, HookLimits, RateLimit, Retry, RunPlace, Runner,
    SessionScope, Trigger,
};
pub use hook_set::{Dormant, HookSet, Problem};
pub use run::{ExecutionRecord, RunId, Status};
pub use runs::{Metrics, Outcome, RUNS, Receipt, RunQuery, Runs, RunsError, SendError, SentEvent};
pub use trigger::GIT_HOOKS;
pub use usage::Usage;

// What the program's commands do with hooks beside the service.
pub use crate::approval::editor_approval::HookApprover;
pub use crate::approval::{
    HookApprovals, HookFileValidity, HookReview, HookSwitch, ReviewState, ReviewedText, is_hooks_file, review_hooks,
};
pub use crate::config::{HookOrigin, WrittenHook, WrittenHooks, schema as hooks_schema};
pub use crate::custom_event::{CustomEvent, CustomEventError};
pub use crate::file_names::SHOWN as HOOKS_FILE;
pub use crate::git::{POST_COMMIT, git_event};
pub use crate::listing::{HookListing, list_hooks, next_start_ms, read_hook_files};
pub use crate::lsp::{ClientExit, LspPorts, serve as serve_lsp};
pub use crate::root::workspace_of;
pub use crate::watch::{WatchBatch, WatchError, WatchHandle, watch as watch_workspace, without_watcher};
pub use crate::worker::{Membership, WatchClaim, Workers};
