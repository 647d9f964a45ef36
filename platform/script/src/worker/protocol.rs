//! The messages between parent and worker. JSON values travel as text, so that their depth is the engine's concern.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::engine::Callee;
use crate::error::ScriptError;
use crate::limits::Limits;
use crate::log::LogLevel;
use crate::source::Source;

use super::request::Lifetime;

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
}

/// All that makes a loaded module what it is; two equal ones may share one.
#[derive(Serialize, Deserialize, Clone, PartialEq)]
pub(super) struct ScriptWire {
    pub(super) source: Source,
    pub(super) limits: Limits,
    pub(super) random_seed: u64,
    pub(super) virtual_modules: BTreeMap<String, String>,
    pub(super) host_names: Vec<String>,
    pub(super) imports: ImportsWire,
    pub(super) console: ConsoleWire,
}

#[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Eq)]
pub(super) enum ImportsWire {
    Refused,
    Relayed,
}

#[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConsoleWire {
    Dropped,
    Relayed,
}
