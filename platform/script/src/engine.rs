//! The engine: one JavaScript heap under limits, from which scripts are loaded.

mod bytecode;
mod context;
mod failure;
mod heap;
mod json;
mod loader;
mod script;
mod sequential;
mod shared;
mod surface;
mod watch;

use std::rc::Rc;
use std::time::Duration;

use dispatch_os::time::Instant;
use rquickjs::allocator::{Allocator, RustAllocator};
use rquickjs::{Ctx, Function, Module, Object, Persistent, Runtime, Value as JsValue};

use crate::error::{ErrorKind, ScriptError};
use crate::grants::{ClockGrant, Grants, Isolation};
use crate::limits::{GARBAGE_SHARE, Limits, MAX_STACK_BYTES, MIN_GARBAGE_BYTES, MIN_MEMORY_BYTES, MIN_STACK_BYTES};
use crate::source::Source;

use context::{GLOBALS_NAME, Realm};
pub(crate) use json::{check_size as check_json_size, parse as parse_json};
use loader::Imports;
pub use script::{Callee, Script};
pub use sequential::SequentialEngine;
use shared::Shared;
use surface::Surface;

/// One JavaScript heap. It belongs to the thread that made it.
///
/// After an [`ErrorKind::Deadline`] it refuses further work (the jobs that were cut short are still in its queue):
/// make a new one, which takes a fraction of a millisecond.
pub struct Engine {
    common_realm: Option<Rc<Realm>>,
    shared: Rc<Shared>,
    runtime: Runtime,
}

impl Engine {
    /// An engine under these limits, with these grants.
    ///
    /// # Errors
    /// [`ErrorKind::Memory`] or [`ErrorKind::Engine`] when the process has no room for the engine itself.
    pub fn new(limits: Limits, grants: Grants) -> Result<Self, ScriptError> {
        // The program's own allocator, which a short process chooses for its speed.
        Self::with_memory(limits, grants, RustAllocator)
    }

    fn with_memory(limits: Limits, grants: Grants, memory: impl Allocator + 'static) -> Result<Self, ScriptError> {
        let runtime = Runtime::new_with_alloc(memory).map_err(|error| failure::at_start(&error))?;
        let memory_bytes = limits.memory_bytes.max(MIN_MEMORY_BYTES);
        runtime.set_memory_limit(memory_bytes);
        runtime.set_gc_threshold((memory_bytes / GARBAGE_SHARE).max(MIN_GARBAGE_BYTES));
        runtime.set_max_stack_size(limits.stack_bytes.clamp(MIN_STACK_BYTES, MAX_STACK_BYTES));
        let isolation = grants.isolation;
        let shared = Rc::new(Shared::new(limits, grants));
        let watch = Rc::clone(&shared);
        runtime.set_interrupt_handler(Some(Box::new(move || watch.watch.is_over())));
        runtime.set_loader(Imports(Rc::clone(&shared)), Imports(Rc::clone(&shared)));
        let mut engine = Self { common_realm: None, shared, runtime };
        if isolation == Isolation::Shared {
            engine.common_realm = Some(Rc::new(engine.new_realm(Surface::Whole)?));
        }
        Ok(engine)
    }

    /// Bounds all later loads and calls by one point in time, beside the budget each of them has.
    pub fn set_deadline(&self, deadline: Option<Instant>) {
        self.shared.watch.set_outer(deadline);
    }

    /// Gives later loads and calls another wall-clock budget than the limits say.
    pub fn set_time(&self, time: Duration) {
        self.shared.time.set(time);
    }

    /// Bounds all later loads and calls by the processor time that this thread uses from now on, so that a machine
    /// that stands still stops no script.
    pub fn set_processor_budget(&self, budget: Duration) {
        self.shared.watch.set_processor_budget(budget);
    }

    /// Fixes the scripts' clock at these milliseconds since 1970.
    pub fn set_now_ms(&self, now_ms: f64) {
        self.shared.clock.replace(ClockGrant::Fixed(now_ms));
    }

    /// Gives the scripts another clock.
    pub fn set_clock(&self, clock: ClockGrant) {
        self.shared.clock.replace(clock);
    }

    /// Frees what no script can reach any more. The engine does so by itself as its heap grows, but not when a script
    /// that ends leaves little room for the next.
    pub fn collect_garbage(&self) {
        self.runtime.run_gc();
    }

    /// Loads a module and what it imports, runs it, and awaits its top-level `await`s.
    ///
    /// # Errors
    /// Every [`ErrorKind`] but [`ErrorKind::Missing`] and those of the worker.
    pub fn load(&self, source: &Source) -> Result<Script, ScriptError> {
        self.load_into(None, source, |_, namespace| Ok(namespace))
    }

    /// The same, seen through an adapter: a JavaScript module of the host's own without imports, whose default export
    /// is called with the module's exports and returns an object to take in their place. It is compiled once for all
    /// modules that are loaded through it.
    ///
    /// # Errors
    /// As [`Self::load`].
    pub fn load_through(&self, adapter: &Source, source: &Source) -> Result<Script, ScriptError> {
        self.load_into(None, source, |ctx, namespace| {
            let adapt = self.adapter_function(ctx, adapter)?;
            self.adapt(ctx, adapter, adapt, namespace)
        })
    }

    /// The default export of an adapter.
    fn adapter_function<'js>(&self, ctx: &Ctx<'js>, adapter: &Source) -> Result<Function<'js>, ScriptError> {
        let described = |error| failure::describe(ctx, &self.shared, error);
        let digest = || adapter.digest();
        let module = bytecode::declare_kept(ctx, &self.shared, &adapter.name, digest, &adapter.text)?;
        let (module, promise) = module.eval().map_err(described)?;
        script::settle(ctx, &self.shared, promise.into_value())?;
        module.get("default").map_err(described)
    }

    /// A module's exports as an adapter shows them.
    fn adapt<'js>(
        &self,
        ctx: &Ctx<'js>,
        adapter: &Source,
        adapt: Function<'js>,
        namespace: Object<'js>,
    ) -> Result<Object<'js>, ScriptError> {
        let adapted: JsValue<'js> =
            adapt.call((namespace,)).map_err(|error| failure::describe(ctx, &self.shared, error))?;
        adapted
            .into_object()
            .ok_or_else(|| ScriptError::new(ErrorKind::Engine, format!("{} did not return an object", adapter.name)))
    }

    fn load_into(
        &self,
        realm: Option<&Rc<Realm>>,
        source: &Source,
        adapt: impl for<'js> FnOnce(&Ctx<'js>, Object<'js>) -> Result<Object<'js>, ScriptError>,
    ) -> Result<Script, ScriptError> {
        if source.name.is_empty() || source.name.contains('\0') || source.name == GLOBALS_NAME {
            return Err(ScriptError::new(
                ErrorKind::Import,
                "invalid module name: it is empty, reserved or contains NUL",
            ));
        }
        let _entry = self.shared.enter()?;
        let loaded = self.load_in_realm(realm, source, adapt);
        self.shared.forget_pending();
        if loaded.as_ref().is_err_and(|error| error.kind == ErrorKind::Memory) {
            // What was made in vain refers to itself, so it is still there.
            self.collect_garbage();
        }
        loaded
    }

    fn load_in_realm(
        &self,
        realm: Option<&Rc<Realm>>,
        source: &Source,
        adapt: impl for<'js> FnOnce(&Ctx<'js>, Object<'js>) -> Result<Object<'js>, ScriptError>,
    ) -> Result<Script, ScriptError> {
        let realm = match realm.or(self.common_realm.as_ref()) {
            Some(realm) => Rc::clone(realm),
            None => Rc::new(self.new_realm(Surface::of(&source.text))?),
        };
        let namespace = realm.context.with(|ctx| {
            let namespace = adapt(&ctx, self.run(&ctx, source)?)?;
            script::drain(&ctx, &self.shared)?;
            Ok(Persistent::save(&ctx, namespace))
        })?;
        Ok(Script::new(namespace, realm, Rc::clone(&self.shared)))
    }

    fn run<'js>(&self, ctx: &Ctx<'js>, source: &Source) -> Result<Object<'js>, ScriptError> {
        let described = |error| failure::describe(ctx, &self.shared, error);
        if self.common_realm.is_none() {
            // The realm is new, so the module cannot be there yet.
            let (module, promise) = loader::declare(ctx, &self.shared, source)?.eval().map_err(described)?;
            script::settle(ctx, &self.shared, promise.into_value())?;
            return module.namespace().map_err(described);
        }
        self.shared.expect(source.clone());
        let promise = Module::import(ctx, source.name.as_str()).map_err(described)?;
        let loaded = script::settle(ctx, &self.shared, promise.into_value())?;
        loaded.into_object().ok_or_else(|| ScriptError::new(ErrorKind::Engine, "the module has no namespace"))
    }

    fn new_realm(&self, surface: Surface) -> Result<Realm, ScriptError> {
        Realm::new(&self.runtime, &self.shared, surface)
    }
}
