//! The messages between parent and worker. JSON values travel as text, so that their depth is the engine's concern.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::engine::Callee;
use crate::error::ScriptError;
use crate::limits::Limits;
use crate::log::LogLevel;
use crate::source::{SentImport, Source};

use super::request::ScriptClock;

#[derive(Serialize, Deserialize)]
pub(super) enum ToWorker {
    Run(Box<RunWire>),
    /// The module of the request, which the worker does not have any more.
    Module(Box<ScriptWire>),
    HostReturned(Result<String, String>),
    Imported(Result<Source, String>),
}

#[derive(Serialize, Deserialize)]
pub(super) enum FromWorker {
    Ready,
    Logged { level: LogLevel, text: String },
    HostCalled { name: String, arguments: String },
    ImportWanted { specifier: String, referrer: String },
    ModuleWanted,
    Done(Result<String, ScriptError>),
}

#[derive(Serialize, Deserialize)]
pub(super) struct RunWire {
    pub(super) module: ModuleWire,
    pub(super) time: Duration,
    pub(super) call: Option<(Callee, Vec<String>)>,
    pub(super) now_ms: f64,
    pub(super) clock: ScriptClock,
}

/// Which module a request is about.
#[derive(Serialize, Deserialize)]
pub(super) enum ModuleWire {
    /// One that serves this request alone.
    Fresh(Box<ScriptWire>),
    /// One that the worker keeps under this number.
    New(u64, Box<ScriptWire>),
    /// One that came with an earlier request.
    Known(u64),
}

/// All that makes a loaded module what it is. How long a request may take is no part of that.
#[derive(Serialize, Deserialize, Clone, PartialEq)]
pub(super) struct ScriptWire {
    pub(super) source: Source,
    pub(super) sent: Vec<SentImport>,
    /// With no time.
    pub(super) limits: Limits,
    pub(super) random_seed: u64,
    pub(super) virtual_modules: BTreeMap<String, String>,
    pub(super) host_names: Vec<String>,
    pub(super) imports: ImportsWire,
    pub(super) console: ConsoleWire,
    pub(super) idle_export: Option<String>,
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
