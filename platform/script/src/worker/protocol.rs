//! The messages between parent and worker. JSON values travel as text, so that their depth is the engine's concern.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::engine::Callee;
use crate::error::ScriptError;
use crate::limits::Limits;
use crate::log::LogLevel;
use crate::source::Source;

use super::request::{Lifetime, ScriptClock};

#[derive(Serialize, Deserialize)]
pub(super) enum ToWorker {
    Run(Box<RunWire>),
    HostReturned(Result<String, String>),
    Imported(Result<Source, String>),
}

#[derive(Serialize, Deserialize)]
pub(super) enum FromWorker {
    Ready,
    Logged { level: LogLevel, text: String },
    HostCalled { name: String, arguments: String },
    ImportWanted { specifier: String, referrer: String },
    Done(Result<String, ScriptError>),
}

#[derive(Serialize, Deserialize)]
pub(super) struct RunWire {
    pub(super) script: ScriptWire,
    pub(super) call: Option<(Callee, Vec<String>)>,
    pub(super) lifetime: Lifetime,
    pub(super) now_ms: f64,
    pub(super) clock: ScriptClock,
}

/// All that makes a loaded module what it is, and how long the request may take.
#[derive(Serialize, Deserialize, Clone)]
pub(super) struct ScriptWire {
    pub(super) source: Source,
    pub(super) limits: Limits,
    pub(super) random_seed: u64,
    pub(super) virtual_modules: BTreeMap<String, String>,
    pub(super) host_names: Vec<String>,
    pub(super) imports: ImportsWire,
    pub(super) console: ConsoleWire,
    pub(super) idle_export: Option<String>,
}

impl ScriptWire {
    /// Whether a module that was loaded for another request will do: how long each may take plays no part.
    pub(super) fn is_same_module(&self, other: &Self) -> bool {
        let timeless = |wire: &Self| Limits { time: Duration::ZERO, ..wire.limits.clone() };
        timeless(self) == timeless(other)
            && self.source == other.source
            && self.random_seed == other.random_seed
            && self.virtual_modules == other.virtual_modules
            && self.host_names == other.host_names
            && self.imports == other.imports
            && self.console == other.console
            && self.idle_export == other.idle_export
    }
}

#[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Eq)]
pub(super) enum ImportsWire {
    Refused,
    Relayed,
    /// Packages too.
    AllRelayed,
}

#[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConsoleWire {
    Dropped,
    Relayed,
}
