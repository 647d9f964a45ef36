//! An engine for scripts that run one after the other: each finds fresh globals, which are made once.

use std::rc::Rc;
use std::time::Duration;

use dispatch_os::time::Instant;
use rquickjs::{Function, Persistent};

use crate::error::ScriptError;
use crate::grants::{Grants, Isolation};
use crate::limits::Limits;
use crate::source::Source;

use super::context::Realm;
use super::heap::EngineHeap;
use super::surface::Surface;
use super::{Engine, Script, failure};

/// Runs scripts one after the other, each seen through the same adapter (as in [`Engine::load_through`]) and each with
/// globals of its own. Before a script comes, the engine's memory is put back to what it was when the globals were made,
/// so a script finds no trace of those before it and has the whole heap to itself.
pub struct SequentialEngine {
    // Values go before the heap that they lie in.
    prepared: Option<PreparedRealm>,
    adapter: Source,
    engine: Engine,
    heap: EngineHeap,
}

/// A realm in which no script has run yet, and what is kept of the memory around it.
struct PreparedRealm {
    surface: Surface,
    adapt: Persistent<Function<'static>>,
    realm: Rc<Realm>,
}

impl SequentialEngine {
    /// An engine under these limits, with these grants, for modules that are seen through this adapter.
    ///
    /// # Errors
    /// As [`Engine::new`].
    pub fn new(limits: Limits, grants: Grants, adapter: Source) -> Result<Self, ScriptError> {
        let heap = EngineHeap::default();
        let grants = Grants { isolation: Isolation::PerModule, ..grants };
        let engine = Engine::with_memory(limits, grants, heap.clone())?;
        Ok(Self { prepared: None, adapter, engine, heap })
    }

    /// As [`Engine::set_deadline`].
    pub fn set_deadline(&self, deadline: Option<Instant>) {
        self.engine.set_deadline(deadline);
    }

    /// As [`Engine::set_processor_budget`].
    pub fn set_processor_budget(&self, budget: Duration) {
        self.engine.set_processor_budget(budget);
    }

    /// Loads a module as [`Engine::load_through`] does and hands it to `work`.
    ///
    /// # Errors
    /// As [`Engine::load`], and what `work` returns.
    pub fn run<T>(
        &mut self,
        source: &Source,
        work: impl FnOnce(&Script) -> Result<T, ScriptError>,
    ) -> Result<T, ScriptError> {
        let surface = Surface::of(&source.text);
        self.heap.go_back();
        let (engine, adapter) = (&self.engine, &self.adapter);
        let prepared = match &mut self.prepared {
            Some(prepared) if prepared.surface >= surface => prepared,
            slot => {
                self.heap.forget();
                *slot = None;
                slot.insert(prepare(engine, adapter, &self.heap, surface)?)
            }
        };
        prepared.realm.random.set(engine.shared.random_seed);
        let script = engine.load_into(Some(&prepared.realm), source, |ctx, namespace| {
            let adapt = prepared.adapt.clone().restore(ctx);
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
    adapter: &Source,
    heap: &EngineHeap,
    surface: Surface,
) -> Result<PreparedRealm, ScriptError> {
    let _entry = engine.shared.enter()?;
    let realm = Rc::new(engine.new_realm(surface)?);
    let adapt = realm.context.with(|ctx| {
        let adapt = engine.adapter_function(&ctx, adapter)?;
        Ok::<_, ScriptError>(Persistent::save(&ctx, adapt))
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
