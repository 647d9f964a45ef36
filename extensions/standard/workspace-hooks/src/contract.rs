//! What the rest of the program knows of workspace hooks: the hooks, the events that start them, the runs.

mod event;
mod hook;
mod run;
mod runs;
mod trigger;

pub use event::{Change, ContentHash, Event, FileChange, Source};
pub use hook::{
    Action, AgentTemplate, Budget, Hook, HookLimits, Place, RateLimit, Retry, Runner, SessionScope, Trigger,
};
pub use run::{ExecutionRecord, RunId, Status, Usage};
pub use runs::{Dormant, HookSet, Metrics, Outcome, Problem, RUNS, Receipt, RunQuery, Runs, RunsError};
pub use trigger::GIT_HOOKS;
