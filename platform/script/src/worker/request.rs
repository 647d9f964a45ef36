//! What a caller asks of a worker, and what it offers while the answer is worked out.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::engine::Callee;
use crate::grants::HostFunctions;
use crate::limits::Limits;
use crate::log::LogSink;
use crate::source::{ModuleSource, SentImport, Source};

/// What to do with a module once it is loaded.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Give the data of its exports.
    Exports,
    /// Call a function with these arguments and give its result.
    Call(Callee, Vec<Value>),
}

/// How long a loaded module lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Lifetime {
    /// For this request only.
    #[default]
    Fresh,
    /// Until the worker ends or needs room: equal requests find the module-level state of the last one. A worker may
    /// be restarted at any time, so the state is a cache and not a memory.
    Kept,
}

/// One request. `limits.time` bounds the load and the call together.
#[derive(Debug, Clone)]
pub struct Request {
    /// The module.
    pub source: Source,
    /// What to do with it.
    pub action: Action,
    /// How long it lives.
    pub lifetime: Lifetime,
    /// What it may use.
    pub limits: Limits,
    /// What its clock shows, in milliseconds since 1970.
    pub now_ms: f64,
    /// The seed of its `Math.random`.
    pub random_seed: u64,
    /// Modules that are imported for sure; others are asked for by [`Port::sources`].
    pub imports: Vec<SentImport>,
    /// Built-in modules by specifier, as JavaScript.
    pub virtual_modules: BTreeMap<String, String>,
    /// Whether its clock moves on from `now_ms`.
    pub clock: ScriptClock,
    /// What is called when nothing is left to run, as in [`crate::Grants::idle_export`].
    pub idle_export: Option<String>,
}

/// Whether time passes for a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum ScriptClock {
    /// It stands still during a request, so that the same request gives the same answer.
    #[default]
    Stands,
    /// It goes on from where the request set it.
    Runs,
}

impl Request {
    /// A request with default limits, a clock at zero and seed zero, for a separate module.
    pub fn new(source: Source, action: Action) -> Self {
        Self {
            source,
            action,
            lifetime: Lifetime::default(),
            limits: Limits::default(),
            now_ms: 0.0,
            random_seed: 0,
            imports: Vec::new(),
            virtual_modules: BTreeMap::new(),
            clock: ScriptClock::default(),
            idle_export: None,
        }
    }
}

/// What the worker can reach in the parent while it works on a request. The default is nothing.
#[derive(Default, Clone, Copy)]
pub struct Port<'a> {
    /// The functions under `host`, run in the parent on the caller's thread.
    pub host: Option<&'a HostFunctions>,
    /// Where `console` goes.
    pub log: Option<&'a dyn LogSink>,
    /// Where relative imports come from.
    pub sources: Option<&'a dyn ModuleSource>,
    /// Whether nobody waits for the answer any more. It is asked again and again; at the first yes the worker is killed.
    pub cancelled: Option<&'a (dyn Fn() -> bool + Sync)>,
}
