//! The runs of hooks, as triggers feed them and people look at them.

use super::event::Event;
use super::hook_set::HookSet;
use super::run::{ExecutionRecord, RunId, Status};
use crate::custom_event::{CustomEvent, CustomEventError};
use dispatch_contracts::service::Service;
use dispatch_contracts::{BoxFuture, BoxStream};
use ext_event_ledger::contract::LedgerError;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Takes events in, runs what they start, and says what became of it.
pub const RUNS: Service<dyn Runs> = Service::new("workspace-hooks/runs");

/// What an event did to one hook.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Receipt {
    /// The hook.
    pub hook_id: String,
    /// The run that will handle it; none when there is nothing to do.
    pub run: Option<RunId>,
    /// What happened.
    pub outcome: Outcome,
}

/// What an event did to one hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// A new run waits.
    Queued,
    /// A run that waits already handles it.
    Coalesced,
    /// This content was handled before.
    Unchanged,
    /// A run of ours made the change.
    OwnChange,
    /// A run of ours may have made the change and still goes; it is decided when that has ended.
    Held,
    /// The same event came before.
    Repeated,
}

/// Which runs are asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunQuery {
    /// Of this workspace.
    pub workspace: Option<PathBuf>,
    /// Of this hook.
    pub hook: Option<String>,
    /// In these states; none means all.
    pub status: Vec<Status>,
    /// With this text in the name of their hook, what they printed, their files or their reason.
    pub text: Option<String>,
    /// At most so many, the newest first; none means a default.
    pub limit: Option<u32>,
}

/// How the engine is doing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Metrics {
    /// Runs that go.
    pub active_executions: u64,
    /// Runs that wait.
    pub queue_length: u64,
    /// From queued to ended, of the last runs.
    pub average_latency_ms: u64,
    /// Ended well, today (UTC).
    pub succeeded: u64,
    /// Ended otherwise, today (UTC).
    pub failed: u64,
}

/// Why something was not done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunsError {
    /// The run or hook does not exist.
    #[error("unknown {what} `{name}`")]
    Unknown {
        /// What kind of thing.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// It cannot be done now.
    #[error("{0}")]
    Refused(String),
    /// Too much waits already.
    #[error("the queue is full: {waiting} runs are waiting")]
    Full {
        /// How many wait.
        waiting: u64,
    },
    /// The database does not answer now.
    #[error("{0}")]
    Away(String),
    /// Storage failed.
    #[error("{0}")]
    Storage(String),
}

/// What became of an event that was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SentEvent {
    /// Its id in the event ledger; none where there is no ledger.
    pub event: Option<String>,
    /// What it did to each hook that listens to it.
    pub receipts: Vec<Receipt>,
    /// Whether something of the workspace waits or goes, so that it needs a worker.
    pub is_busy: bool,
}

/// Why an event that was sent started nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// It is not well formed.
    #[error(transparent)]
    Invalid(#[from] CustomEventError),
    /// It could not be stored.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// It is stored, and starts its hooks later.
    #[error(transparent)]
    Runs(#[from] RunsError),
}

/// The runs of workspace hooks.
pub trait Runs: Send + Sync {
    /// Reads the hooks of a workspace again if their files have changed; returns what is in force.
    fn refresh<'a>(&'a self, workspace: &'a Path) -> BoxFuture<'a, Result<HookSet, RunsError>>;
    /// Takes an event in. Answers only when its runs are durable.
    fn submit(&self, event: Event) -> BoxFuture<'_, Result<Vec<Receipt>, RunsError>>;
    /// Stores a custom event in the event ledger, and answers when its runs are durable. Its files are named relative to
    /// `base`. An event that was stored starts its hooks, whatever becomes of whoever sent it.
    fn send<'a>(
        &'a self,
        sent: CustomEvent,
        workspace: &'a Path,
        base: &'a Path,
        from: &'a str,
    ) -> BoxFuture<'a, Result<SentEvent, SendError>>;
    /// Takes up the events that the ledger has for a workspace. Says whether something of it waits or goes.
    fn catch_up<'a>(&'a self, workspace: &'a Path) -> BoxFuture<'a, Result<bool, RunsError>>;
    /// Takes up the queue of a workspace: claims runs, repeats them, keeps its time tables, until the program ends.
    fn work<'a>(&'a self, workspace: &'a Path) -> BoxFuture<'a, Result<(), RunsError>>;
    /// Resolves when nothing of the workspace waits or runs.
    fn idle<'a>(&'a self, workspace: &'a Path) -> BoxFuture<'a, Result<(), RunsError>>;
    /// One run; a unique beginning of its id is enough.
    fn run<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<ExecutionRecord, RunsError>>;
    /// Runs, newest first.
    fn list(&self, query: RunQuery) -> BoxFuture<'_, Result<Vec<ExecutionRecord>, RunsError>>;
    /// Resolves when the run is over.
    fn wait<'a>(&'a self, id: &'a RunId) -> BoxFuture<'a, Result<ExecutionRecord, RunsError>>;
    /// Takes a run back, or stops it, whichever process runs it.
    fn cancel<'a>(&'a self, id: &'a RunId) -> BoxFuture<'a, Result<ExecutionRecord, RunsError>>;
    /// Runs it once more, by hand, with the hook as it is now.
    fn retry<'a>(&'a self, id: &'a RunId) -> BoxFuture<'a, Result<RunId, RunsError>>;
    /// Every change of a run of the workspace from now on, of this process and of others.
    fn news<'a>(&'a self, workspace: &'a Path)
    -> BoxFuture<'a, Result<BoxStream<'static, ExecutionRecord>, RunsError>>;
    /// How the engine is doing in a workspace.
    fn metrics<'a>(&'a self, workspace: &'a Path) -> BoxFuture<'a, Result<Metrics, RunsError>>;
    /// Where the patch of a run is, if it has one.
    fn patch<'a>(&'a self, id: &'a RunId) -> BoxFuture<'a, Result<Option<PathBuf>, RunsError>>;
    /// Notes that the patch of a run was applied, so that it is not offered again.
    fn patch_applied<'a>(&'a self, id: &'a RunId) -> BoxFuture<'a, Result<ExecutionRecord, RunsError>>;
    /// Claims nothing more; what runs is stopped after a grace and waits again.
    fn drain(&self) -> BoxFuture<'_, ()>;
}
