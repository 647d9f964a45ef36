//! What others may use: routing hooks, what they would do, and what they did.

use dispatch_contracts::BoxFuture;
use dispatch_contracts::service::Service;
use dispatch_contracts::storage::StorageError;
use ext_event_ledger::contract::{Event, LedgerError};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The routing hooks.
pub const ROUTES: Service<dyn Routes> = Service::new("broker/routes");

/// Where a hook stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HookState {
    /// It sees events.
    Enabled,
    /// It is switched off.
    Disabled,
    /// It came with the project, and nobody approved it as it is.
    Untrusted,
    /// It cannot run.
    Broken,
}

/// A routing hook as people see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HookListing {
    /// Its id.
    pub id: String,
    /// Its file.
    pub path: PathBuf,
    /// `project` or `user`.
    pub origin: String,
    /// Of several hooks for one event, the higher priority comes first.
    pub priority: i64,
    /// The channels whose events it sees; all if it names none.
    pub channels: Option<Vec<String>>,
    /// Where it stands.
    pub state: HookState,
    /// Why it stands there.
    pub reason: Option<String>,
}

/// What a hook would do with an event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HookTrial {
    /// Its id.
    pub hook: String,
    /// The event.
    pub event: String,
    /// `fired`, `passed`, `invalid`, `failed` or `timeout`.
    pub outcome: String,
    /// Why, where that needs a reason.
    pub reason: Option<String>,
    /// What it returned.
    pub result: Option<Value>,
    /// The dispatch that would be made.
    pub dispatch: Option<RouteSummary>,
    /// How long it took.
    pub ms: u64,
    /// What it wrote to its console.
    pub log: Vec<String>,
}

/// Where an event goes, and with which rights.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RouteSummary {
    /// The label of the session.
    pub session: String,
    /// The persona.
    pub persona: String,
    /// `steer`, `followup`, `collect` or `interrupt`.
    pub mode: String,
    /// The permissions.
    pub permissions: Value,
    /// Where the reply goes.
    pub delivery: Value,
    /// What is added to the system prompt.
    pub system_prompt: Option<String>,
    /// What was taken out of the event.
    pub extracted: Value,
    /// Whether the conversation before is read.
    pub include_thread_history: bool,
}

/// What a hook decided, or would decide, about an event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RouteDecision {
    /// `fired`, `passed`, ...
    pub outcome: String,
    /// Where the event goes, if it fired.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub route: Option<RouteSummary>,
}

/// An event that a changed hook would decide otherwise about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChangedDecision {
    /// The event.
    pub event: String,
    /// What was decided; nothing if the hook did not look at it.
    pub before: Option<RouteDecision>,
    /// What would be decided.
    pub after: Option<RouteDecision>,
}

/// What a hook would have done with recorded events.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BacktestReport {
    /// How many events it was tried on.
    pub events: u64,
    /// For how many nothing changes.
    pub same: u64,
    /// For which something does.
    pub changed: Vec<ChangedDecision>,
}

/// How often one hook decided what, and how long it took.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HookMetrics {
    /// Its id.
    pub hook: String,
    /// It wanted the event delivered.
    pub fired: u64,
    /// It left the event alone.
    pub passed: u64,
    /// It threw, could not be loaded or used too much.
    pub failed: u64,
    /// It did not return in time.
    pub timeout: u64,
    /// What it returned breaks the schema.
    pub invalid: u64,
    /// It did not look at the event: not approved, or switched off by another event.
    pub skipped: u64,
    /// The time that half of its looks at events did not exceed.
    pub median_ms: Option<u64>,
    /// The time that 95 of 100 did not exceed.
    pub p95_ms: Option<u64>,
}

/// What came in over a channel, and what became of the replies to it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChannelMetrics {
    /// Which kind of channel.
    pub channel: String,
    /// Events that were stored.
    pub received: u64,
    /// Repetitions of stored events.
    pub duplicates: u64,
    /// Requests whose signature was refused.
    pub refused: u64,
    /// Replies that arrived.
    pub sent: u64,
    /// Replies that did not arrive and are not tried again.
    pub failed: u64,
    /// Replies that may have arrived.
    pub unknown: u64,
    /// Replies on their way, whenever they were written.
    pub waiting: u64,
}

/// Counts and times of hooks and channels.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RouteMetrics {
    /// From when on, in Unix milliseconds.
    pub since_ms: u64,
    /// The hooks, by id.
    pub hooks: Vec<HookMetrics>,
    /// The channels, by name.
    pub channels: Vec<ChannelMetrics>,
}

/// Why a question about hooks has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RoutesError {
    /// No hook has this id.
    #[error("unknown hook `{id}`{}", nearest.as_ref().map(|near| format!("; did you mean `{near}`?")).unwrap_or_default())]
    NoHook {
        /// The id.
        id: String,
        /// The id that was probably meant.
        nearest: Option<String>,
    },
    /// The file cannot be used as a hook.
    #[error("{0}")]
    File(String),
    /// The ledger failed.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// Storage failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Routing hooks: which there are, and what they would do.
pub trait Routes: Send + Sync {
    /// Every hook.
    fn list(&self) -> BoxFuture<'_, Result<Vec<HookListing>, RoutesError>>;
    /// Switches a hook on.
    fn enable<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<HookListing, RoutesError>>;
    /// Switches a hook off.
    fn disable<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<HookListing, RoutesError>>;
    /// Runs a file on an event, and sends nothing.
    fn test<'a>(&'a self, file: &'a Path, event: Event) -> BoxFuture<'a, Result<HookTrial, RoutesError>>;
    /// Runs a file on recorded events received at this time or later, and sends nothing.
    fn backtest<'a>(&'a self, file: &'a Path, since_ms: u64) -> BoxFuture<'a, Result<BacktestReport, RoutesError>>;
    /// Counts and times since this time, in Unix milliseconds. Repetitions and refused requests count by whole days.
    fn metrics(&self, since_ms: u64) -> BoxFuture<'_, Result<RouteMetrics, RoutesError>>;
    /// Whether everything that an event leads to is stored.
    fn is_routed<'a>(&'a self, event: &'a str) -> BoxFuture<'a, Result<bool, RoutesError>>;
}
