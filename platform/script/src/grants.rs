//! What the caller lets a script reach: everything that is not the language itself.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::cache::Cache;
use crate::log::LogSink;
use crate::source::ModuleSource;

/// What `Date`, `Date.now` and `performance` show.
pub enum ClockGrant {
    /// Time stands still at these milliseconds since 1970, until [`crate::Engine::set_now_ms`] moves it.
    Fixed(f64),
    /// The function gives the milliseconds since 1970 each time the script asks.
    Real(Box<dyn Fn() -> f64>),
}

impl Default for ClockGrant {
    fn default() -> Self {
        Self::Fixed(0.0)
    }
}

/// A function of the host: JSON arguments in, JSON out; an error becomes a JavaScript `Error` with that message.
///
/// It may block; the time counts against the script's budget but the function itself is not interrupted.
pub type HostFunction = Arc<dyn Fn(&[Value]) -> Result<Value, String> + Send + Sync>;

/// The functions a script finds as `host.<name>(...)`. With none registered there is no `host`.
#[derive(Clone, Default)]
pub struct HostFunctions(BTreeMap<String, HostFunction>);

impl HostFunctions {
    /// No functions.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds or replaces a function.
    #[must_use]
    pub fn with(
        mut self,
        name: impl Into<String>,
        function: impl Fn(&[Value]) -> Result<Value, String> + Send + Sync + 'static,
    ) -> Self {
        self.0.insert(name.into(), Arc::new(function));
        self
    }

    /// The function of this name.
    pub fn get(&self, name: &str) -> Option<&HostFunction> {
        self.0.get(name)
    }

    /// All names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// The function at an index of [`Self::names`].
    pub(crate) fn at(&self, index: usize) -> Option<&HostFunction> {
        self.0.values().nth(index)
    }
}

/// The last resort against native calls that ignore the interrupt handler.
///
/// The engine arms it before it enters JavaScript and disarms it after. An implementation ends the process when it
/// fires (after writing what must be written): no other thread can stop such a call.
pub trait Alarm {
    /// Called with the time left until the deadline.
    fn arm(&self, until_deadline: Duration);
    /// Called when JavaScript has returned.
    fn disarm(&self);
}

/// Whether the scripts of one engine share their globals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Isolation {
    /// Each script has its own globals: what one does to a prototype, no other sees. Costs about 0.15 ms each.
    #[default]
    PerModule,
    /// All scripts share one set of globals and one module graph, as in one program.
    Shared,
}

/// Everything a script may reach beyond the language. The default is nothing: a clock at zero, a fixed seed, no
/// imports, no log, no host functions.
#[derive(Default)]
pub struct Grants {
    /// What the time is.
    pub clock: ClockGrant,
    /// The seed of `Math.random`; equal seeds give equal sequences in every context.
    pub random_seed: u64,
    /// Where `console` goes; nowhere if absent.
    pub log: Option<Box<dyn LogSink>>,
    /// The functions under `host`.
    pub host: HostFunctions,
    /// Built-in modules by specifier (such as `dispatch`), as JavaScript.
    pub virtual_modules: BTreeMap<String, String>,
    /// Where relative imports come from; they are refused if absent.
    pub sources: Option<Box<dyn ModuleSource>>,
    /// Where compiled forms are kept.
    pub cache: Option<Cache>,
    /// Ends the process when a native call cannot be interrupted.
    pub alarm: Option<Box<dyn Alarm>>,
    /// Whether scripts share globals.
    pub isolation: Isolation,
    /// The export of the called module that is called when a promise is waited for and nothing is left to run: it waits
    /// for something (a timer, the host) and answers whether there is more to run.
    pub idle_export: Option<String>,
}
