//! An engine for scripts that run one after the other: each finds fresh globals, which are made once.

use std::rc::Rc;
use std::time::Duration;

use dispatch_os::time::Instant;
use rquickjs::{Function, Persistent};

use crate::error::ScriptError;
use crate::grants::{ClockGrant, Grants, Isolation};
use crate::limits::Limits;
use crate::source::Source;

use super::context::Realm;
use super::heap::EngineHeap;
use super::surface::Surface;
use super::{Engine, Script, failure};

/// Runs scripts one after the other, each seen through the same adapter if there is one (as in [`Engine::load_through`])
/// and each with globals of its own. Before a script comes, the engine's memory is put back to what it was when the globals were made,
/// so a script finds no trace of those before it and has the whole heap to itself.
pub struct SequentialEngine {
    // Values go before the heap that they lie in.
    prepared: Option<PreparedRealm>,
    adapter: Option<Source>,
    engine: Engine,
    heap: EngineHeap,
    /// Whether the memory may hold something of a script.
    is_used: bool,
}

/// A realm in which no script has run yet, and what is kept of the memory around it.
struct PreparedRealm {
    surface: Surface,
    adapt: Option<Persistent<Function<'static>>>,
    realm: Rc<Realm>,
}

impl SequentialEngine {
    /// An engine under these limits, with these grants, for modules that are seen through this adapter.
    ///
    /// # Errors
    /// As [`Engine::new`].
    pub fn new(limits: Limits, grants: Grants, adapter: Source) -> Result<Self, ScriptError> {
        Self::seen_through(Some(adapter), limits, grants)
    }

    /// An engine for modules that are seen as they are.
    ///
    /// # Errors
    /// As [`Engine::new`].
    pub fn plain(limits: Limits, grants: Grants) -> Result<Self, ScriptError> {
        Self::seen_through(None, limits, grants)
    }

    fn seen_through(adapter: Option<Source>, limits: Limits, grants: Grants) -> Result<Self, ScriptError> {
        let heap = EngineHeap::default();
        let grants = Grants { isolation: Isolation::PerModule, ..grants };
        let engine = Engine::with_memory(limits, grants, heap.clone())?;
        Ok(Self { prepared: None, adapter, engine, heap, is_used: false })
    }

    /// As [`Engine::set_deadline`].
    pub fn set_deadline(&self, deadline: Option<Instant>) {
        self.engine.set_deadline(deadline);
    }

    /// As [`Engine::set_time`].
    pub fn set_time(&self, time: Duration) {
        self.engine.set_time(time);
    }

    /// As [`Engine::set_clock`].
    pub fn set_clock(&self, clock: ClockGrant) {
        self.engine.set_clock(clock);
    }

    /// Whether a script was stopped at its deadline: then this engine runs no other.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.engine.shared.watch.has_fired()
    }

    /// As [`Engine::set_processor_budget`].
    pub fn set_processor_budget(&self, budget: Duration) {
        self.engine.set_processor_budget(budget);
    }

    /// Gives back what the last script used; otherwise the next one does.
    pub fn tidy(&mut self) {
        self.heap.go_back();
        self.engine.shared.originals.borrow_mut().clear();
        self.is_used = false;
    }

    /// Loads a module and hands it to `work`.
    ///
    /// # Errors
    /// As [`Engine::load`], and what `work` returns.
    pub fn run<T>(
        &mut self,
        source: &Source,
        work: impl FnOnce(&Script) -> Result<T, ScriptError>,
    ) -> Result<T, ScriptError> {
        let surface = Surface::of(&source.text);
        if self.is_used {
            self.tidy();
        }
        self.is_used = true;
        let (engine, adapter) = (&self.engine, self.adapter.as_ref());
        let prepared = match &mut self.prepared {
            Some(prepared) if prepared.surface >= surface => prepared,
            slot => {
                self.heap.forget();
                *slot = None;
                slot.insert(prepare(engine, adapter, &self.heap, surface)?)
            }
        };
        prepared.realm.start.again(&engine.shared);
        let script = engine.load_into(Some(&prepared.realm), source, |ctx, namespace| {
            let (Some(adapter), Some(adapt)) = (adapter, &prepared.adapt) else { return Ok(namespace) };
            let adapt = adapt.clone().restore(ctx);
            let adapt = adapt.map_err(|error| failure::describe(ctx, &engine.shared, error))?;
            engine.adapt(ctx, adapter, adapt, namespace)
        })?;
        let result = work(&script);
        script.abandon();
        result
    }
}

/// Makes the globals and keeps what the memory holds then.
fn prepare(
    engine: &Engine,
    adapter: Option<&Source>,
    heap: &EngineHeap,
    surface: Surface,
) -> Result<PreparedRealm, ScriptError> {
    let _entry = engine.shared.enter()?;
    let realm = Rc::new(engine.new_realm(surface)?);
    let adapt = realm.context.with(|ctx| {
        let adapt = adapter.map(|adapter| engine.adapter_function(&ctx, adapter)).transpose()?;
        Ok::<_, ScriptError>(adapt.map(|adapt| Persistent::save(&ctx, adapt)))
    })?;
    heap.keep();
    Ok(PreparedRealm { surface, adapt, realm })
}

impl Drop for SequentialEngine {
    fn drop(&mut self) {
        // What the last script left behind has no owner; without it everything has.
        self.heap.go_back();
    }
}
