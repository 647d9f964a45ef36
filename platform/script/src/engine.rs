//! The engine: one JavaScript heap under limits, from which scripts are loaded.

mod context;
mod failure;
mod json;
mod loader;
mod script;
mod shared;
mod watch;

use std::rc::Rc;
use std::time::Instant;

use rquickjs::{Ctx, Module, Object, Persistent, Runtime};

use crate::error::{ErrorKind, ScriptError};
use crate::grants::{ClockGrant, Grants, Isolation};
use crate::limits::{Limits, MAX_STACK_BYTES, MIN_MEMORY_BYTES, MIN_STACK_BYTES};
use crate::source::Source;

use context::Realm;
pub(crate) use json::{check_size as check_json_size, parse as parse_json};
use loader::Imports;
pub use script::{Callee, Script};
use shared::Shared;

/// One JavaScript heap. It belongs to the thread that made it.
///
/// After an [`ErrorKind::Deadline`] it refuses further work (the jobs that were cut short are still in its queue):
/// make a new one, which takes a fraction of a millisecond.
pub struct Engine {
    common_realm: Option<Realm>,
    shared: Rc<Shared>,
    runtime: Runtime,
}

impl Engine {
    /// An engine under these limits, with these grants.
    ///
    /// # Errors
    /// [`ErrorKind::Memory`] or [`ErrorKind::Engine`] when the process has no room for the engine itself.
    pub fn new(limits: Limits, grants: Grants) -> Result<Self, ScriptError> {
        let runtime = Runtime::new().map_err(|error| failure::at_start(&error))?;
        runtime.set_memory_limit(limits.memory_bytes.max(MIN_MEMORY_BYTES));
        runtime.set_max_stack_size(limits.stack_bytes.clamp(MIN_STACK_BYTES, MAX_STACK_BYTES));
        let isolation = grants.isolation;
        let shared = Rc::new(Shared::new(limits, grants));
        let watch = Rc::clone(&shared);
        runtime.set_interrupt_handler(Some(Box::new(move || watch.watch.is_over())));
        runtime.set_loader(Imports(Rc::clone(&shared)), Imports(Rc::clone(&shared)));
        let mut engine = Self { common_realm: None, shared, runtime };
        if isolation == Isolation::Shared {
            engine.common_realm = Some(engine.new_realm()?);
        }
        Ok(engine)
    }

    /// Bounds all later loads and calls by one point in time, beside the budget each of them has.
    pub fn set_deadline(&self, deadline: Option<Instant>) {
        self.shared.watch.set_outer(deadline);
    }

    /// Fixes the scripts' clock at these milliseconds since 1970.
    pub fn set_now_ms(&self, now_ms: f64) {
        self.shared.clock.replace(ClockGrant::Fixed(now_ms));
    }

    /// Loads a module and what it imports, runs it, and awaits its top-level `await`s.
    ///
    /// # Errors
    /// Every [`ErrorKind`] but [`ErrorKind::Missing`] and those of the worker.
    pub fn load(&self, source: &Source) -> Result<Script, ScriptError> {
        if source.name.is_empty() || source.name.contains('\0') {
            return Err(ScriptError::new(ErrorKind::Import, "a module needs a name without NUL"));
        }
        let _entry = self.shared.enter()?;
        let realm = match &self.common_realm {
            Some(realm) => realm.clone(),
            None => self.new_realm()?,
        };
        self.shared.pending.borrow_mut().insert(source.name.clone(), source.clone());
        let namespace = realm.context.with(|ctx| self.run(&ctx, &source.name));
        self.shared.pending.borrow_mut().clear();
        Ok(Script::new(namespace?, realm, Rc::clone(&self.shared)))
    }

    fn run(&self, ctx: &Ctx<'_>, name: &str) -> Result<Persistent<Object<'static>>, ScriptError> {
        let promise = Module::import(ctx, name).map_err(|error| failure::describe(ctx, &self.shared, error))?;
        let loaded = script::settle(ctx, &self.shared, promise.into_value())?;
        script::drain(ctx, &self.shared)?;
        let namespace =
            loaded.into_object().ok_or_else(|| ScriptError::new(ErrorKind::Engine, "the module has no namespace"))?;
        Ok(Persistent::save(ctx, namespace))
    }

    fn new_realm(&self) -> Result<Realm, ScriptError> {
        Realm::new(&self.runtime, &self.shared)
    }
}
