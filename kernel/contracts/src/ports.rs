//! What pure code may ask of the world: each port is passed in, never reached for.

use crate::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Time. `now_ms` may jump when someone sets the clock; measure with `monotonic_ms`.
pub trait Clock: Send + Sync {
    /// Unix time in milliseconds.
    fn now_ms(&self) -> u64;
    /// Milliseconds since an arbitrary start; never goes back.
    fn monotonic_ms(&self) -> u64;
    /// Resolves after the given time.
    fn sleep_ms(&self, ms: u64) -> BoxFuture<'static, ()>;
}

/// Fresh identifiers, unique for the life of the installation.
pub trait Ids: Send + Sync {
    /// The next identifier.
    fn next_id(&self) -> String;
}

/// Runs a future to its end without anybody waiting for it.
pub trait Spawner: Send + Sync {
    /// Starts the future. It must not be dropped before it has ended, except at shutdown.
    fn spawn(&self, future: BoxFuture<'static, ()>);
}

/// How much a log record matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// For someone who follows one decision through the code.
    Debug,
    /// What happened, in words a user knows.
    Info,
    /// Something was wrong and was dealt with.
    Warn,
    /// Something was wrong and somebody must act.
    Error,
}

/// One log record. Never holds a payload or a secret.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LogRecord {
    /// How much it matters.
    pub level: Level,
    /// Who speaks: `kernel` or an extension id.
    pub source: String,
    /// One sentence.
    pub message: String,
    /// The facts, by name.
    pub fields: Map<String, Value>,
}

/// Where log records go. Must not block and must not fail.
pub trait LogSink: Send + Sync {
    /// Takes one record.
    fn write(&self, record: LogRecord);
}

/// Keeps a text that is too large for a model, and says where.
pub trait Spill: Send + Sync {
    /// Stores `text` under a name made from `name`; returns where a tool can read it.
    fn keep<'a>(&'a self, name: &'a str, text: &'a str) -> BoxFuture<'a, Result<String, SpillError>>;
}

/// Why a text could not be kept.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the full output could not be kept: {0}")]
pub struct SpillError(pub String);
