//! What the callbacks of one engine share: limits, grants and what is noted while scripts run.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::time::Duration;

use crate::cache::Cache;
use crate::error::ScriptError;
use crate::grants::{ClockGrant, Grants, HostFunctions};
use crate::limits::Limits;
use crate::log::BoundedLog;
use crate::source::{ModuleSource, Source};

use super::bytecode::KeptBytecode;
use super::watch::{DeadlineWatch, EntryGuard};

pub(crate) struct Shared {
    pub(crate) limits: Limits,
    /// The wall-clock budget of the next load or call; that of the limits until another is set.
    pub(crate) time: Cell<Duration>,
    pub(crate) watch: DeadlineWatch,
    pub(crate) log: BoundedLog,
    pub(crate) host: HostFunctions,
    pub(crate) virtual_modules: BTreeMap<String, String>,
    pub(crate) sources: Option<Box<dyn ModuleSource>>,
    pub(crate) cache: Option<Cache>,
    pub(crate) kept: KeptBytecode,
    pub(crate) clock: RefCell<ClockGrant>,
    pub(crate) random_seed: u64,
    /// Texts as they were written, by name, to find positions in when an error is shown.
    pub(crate) originals: RefCell<BTreeMap<String, String>>,
    /// Sources resolved but not yet compiled; few at a time.
    pending: RefCell<Vec<Source>>,
    /// Failures of the loader; what JavaScript throws for them carries only the message.
    pub(crate) load_failures: RefCell<Vec<ScriptError>>,
    pub(crate) imports: Cell<usize>,
    pub(crate) idle_export: Option<String>,
    alarm: Option<Box<dyn crate::grants::Alarm>>,
}

impl Shared {
    pub(crate) fn new(limits: Limits, grants: Grants) -> Self {
        Self {
            log: BoundedLog::new(grants.log, &limits),
            time: Cell::new(limits.time),
            limits,
            watch: DeadlineWatch::default(),
            host: grants.host,
            virtual_modules: grants.virtual_modules,
            sources: grants.sources,
            cache: grants.cache,
            kept: KeptBytecode::default(),
            clock: RefCell::new(grants.clock),
            random_seed: grants.random_seed,
            originals: RefCell::default(),
            pending: RefCell::default(),
            load_failures: RefCell::default(),
            imports: Cell::new(0),
            idle_export: grants.idle_export,
            alarm: grants.alarm,
        }
    }

    /// Begins a load or call: time and log budgets start anew.
    pub(crate) fn enter(&self) -> Result<EntryGuard<'_>, ScriptError> {
        self.log.refill();
        self.load_failures.borrow_mut().clear();
        self.forget_pending();
        self.imports.set(0);
        self.watch.enter(self.time.get(), self.alarm.as_deref())
    }

    /// Keeps a source until it is compiled, in place of one with its name.
    pub(crate) fn expect(&self, source: Source) {
        self.take_pending(&source.name);
        self.pending.borrow_mut().push(source);
    }

    pub(crate) fn take_pending(&self, name: &str) -> Option<Source> {
        let mut pending = self.pending.borrow_mut();
        let at = pending.iter().position(|source| source.name == name)?;
        Some(pending.swap_remove(at))
    }

    pub(crate) fn forget_pending(&self) {
        self.pending.borrow_mut().clear();
    }

    pub(crate) fn now_ms(&self) -> f64 {
        match &*self.clock.borrow() {
            ClockGrant::Fixed(ms) => *ms,
            ClockGrant::Real(now) => now(),
        }
    }
}
