//! A loaded module: its data, and its functions to call.

use std::rc::Rc;

use rquickjs::function::Args;
use rquickjs::promise::PromiseState;
use rquickjs::{Ctx, Function, Object, Persistent, Promise, Value as JsValue};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::{ErrorKind, ScriptError};

use super::context::Realm;
use super::shared::Shared;
use super::{failure, json};

/// Which function of a module to call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Callee {
    /// An exported function, by export name (`default` for the default export).
    Export(String),
    /// A method of the default export, called on it.
    DefaultMethod(String),
}

impl Callee {
    /// The exported function of this name.
    pub fn export(name: impl Into<String>) -> Self {
        Self::Export(name.into())
    }

    /// The method of this name of the default export.
    pub fn default_method(name: impl Into<String>) -> Self {
        Self::DefaultMethod(name.into())
    }

    fn describe(&self) -> String {
        match self {
            Self::Export(name) => format!("export \"{name}\""),
            Self::DefaultMethod(name) => format!("method \"{name}\" of the default export"),
        }
    }
}

/// A module that has been loaded and run. It keeps its engine's heap alive.
pub struct Script {
    // Values go before the context that owns them.
    namespace: Persistent<Object<'static>>,
    realm: Rc<Realm>,
    shared: Rc<Shared>,
}

impl Script {
    pub(crate) fn new(namespace: Persistent<Object<'static>>, realm: Rc<Realm>, shared: Rc<Shared>) -> Self {
        Self { namespace, realm, shared }
    }

    /// Leaves everything that the script made where it is, in a heap that is put back before it is used again.
    pub(super) fn abandon(self) {
        std::mem::forget(self.namespace);
    }

    /// The data of all exports as one object: functions are left out, a `Set` is an array, a `Map` an object.
    ///
    /// # Errors
    /// When a value has no JSON form (a cycle, a `BigInt`) or is over a limit.
    pub fn exports(&self) -> Result<Value, ScriptError> {
        self.enter(|ctx, namespace| self.encode(ctx, namespace.into_value()))
    }

    /// The data of one export; nothing if it does not exist.
    ///
    /// # Errors
    /// As [`Self::exports`].
    pub fn export(&self, name: &str) -> Result<Option<Value>, ScriptError> {
        self.enter(|ctx, namespace| {
            let value: JsValue<'_> = self.js(ctx, namespace.get(name))?;
            if value.is_undefined() {
                return Ok(None);
            }
            self.encode(ctx, value).map(Some)
        })
    }

    /// Whether there is such a function.
    ///
    /// # Errors
    /// When looking it up runs code of the script that fails.
    pub fn has(&self, callee: &Callee) -> Result<bool, ScriptError> {
        self.enter(|ctx, namespace| {
            let (_, function) = self.find(ctx, &namespace, callee)?;
            Ok(function.is_function())
        })
    }

    /// Calls a function and awaits what it returns. What JSON leaves out comes back as `null`.
    ///
    /// # Errors
    /// Every [`ErrorKind`] but those of the worker.
    pub fn call(&self, callee: &Callee, arguments: &[Value]) -> Result<Value, ScriptError> {
        let texts: Vec<String> = arguments.iter().map(Value::to_string).collect();
        self.call_with_json(callee, &texts)
    }

    /// The same with arguments that are JSON text already.
    ///
    /// # Errors
    /// As [`Self::call`].
    pub fn call_with_json(&self, callee: &Callee, arguments: &[impl AsRef<str>]) -> Result<Value, ScriptError> {
        self.enter(|ctx, namespace| {
            let (this, function) = self.find(ctx, &namespace, callee)?;
            let Some(function) = function.into_function() else {
                return Err(ScriptError::new(ErrorKind::Missing, format!("{} is not a function", callee.describe())));
            };
            let arguments = self.arguments(ctx, this, arguments)?;
            let returned: JsValue<'_> = self.js(ctx, function.call_arg(arguments))?;
            let idle = self.shared.idle_export.as_deref().map(|name| namespace.get::<_, Function<'_>>(name));
            let idle = self.js(ctx, idle.transpose())?;
            let settled = settle_with(ctx, &self.shared, returned, idle.as_ref())?;
            self.encode(ctx, settled)
        })
    }

    fn enter<T>(
        &self,
        work: impl for<'js> FnOnce(&Ctx<'js>, Object<'js>) -> Result<T, ScriptError>,
    ) -> Result<T, ScriptError> {
        let _entry = self.shared.enter()?;
        self.realm.context.with(|ctx| {
            let namespace = self.js(&ctx, self.namespace.clone().restore(&ctx))?;
            let result = work(&ctx, namespace)?;
            drain(&ctx, &self.shared)?;
            Ok(result)
        })
    }

    fn find<'js>(
        &self,
        ctx: &Ctx<'js>,
        namespace: &Object<'js>,
        callee: &Callee,
    ) -> Result<(JsValue<'js>, JsValue<'js>), ScriptError> {
        let undefined = || JsValue::new_undefined(ctx.clone());
        match callee {
            Callee::Export(name) => {
                let function = self.js(ctx, namespace.get(name.as_str()))?;
                Ok((undefined(), function))
            }
            Callee::DefaultMethod(name) => {
                let this: JsValue<'js> = self.js(ctx, namespace.get("default"))?;
                let Some(object) = this.as_object() else {
                    return Ok((undefined(), undefined()));
                };
                let function = self.js(ctx, object.get(name.as_str()))?;
                Ok((this, function))
            }
        }
    }

    fn arguments<'js>(
        &self,
        ctx: &Ctx<'js>,
        this: JsValue<'js>,
        texts: &[impl AsRef<str>],
    ) -> Result<Args<'js>, ScriptError> {
        let mut arguments = Args::new(ctx.clone(), texts.len());
        self.js(ctx, arguments.this(this))?;
        let mut left = self.shared.limits.value_bytes;
        for text in texts {
            let (bytes, value) = json::into_js(ctx, text.as_ref(), left)?;
            left -= bytes;
            let value = self.js(ctx, value)?;
            self.js(ctx, arguments.push_arg(value))?;
        }
        Ok(arguments)
    }

    fn encode<'js>(&self, ctx: &Ctx<'js>, value: JsValue<'js>) -> Result<Value, ScriptError> {
        let encode: Function<'js> = self.js(ctx, self.realm.encode.clone().restore(ctx))?;
        let text: Option<String> = self.js(ctx, encode.call((value,)))?;
        json::parse(text, self.shared.limits.value_bytes)
    }

    fn js<T>(&self, ctx: &Ctx<'_>, result: rquickjs::Result<T>) -> Result<T, ScriptError> {
        result.map_err(|error| failure::describe(ctx, &self.shared, error))
    }
}

/// Awaits a value: runs jobs until it settles, the queue is empty, or the time is up.
pub(crate) fn settle<'js>(ctx: &Ctx<'js>, shared: &Shared, value: JsValue<'js>) -> Result<JsValue<'js>, ScriptError> {
    settle_with(ctx, shared, value, None)
}

/// The same; when the queue is empty, `idle` is called, which waits and answers whether there is more to run.
fn settle_with<'js>(
    ctx: &Ctx<'js>,
    shared: &Shared,
    value: JsValue<'js>,
    idle: Option<&Function<'js>>,
) -> Result<JsValue<'js>, ScriptError> {
    let Some(promise) = awaited(ctx, value.clone()) else {
        return Ok(value);
    };
    let promise = promise.map_err(|error| failure::describe(ctx, shared, error))?;
    while promise.state() == PromiseState::Pending {
        if shared.watch.is_over() {
            return Err(failure::over_time(shared, Vec::new()));
        }
        if ctx.execute_pending_job() {
            continue;
        }
        let Some(idle) = idle else { break };
        let more: bool = idle.call(()).map_err(|error| failure::describe(ctx, shared, error))?;
        if !more {
            break;
        }
    }
    match promise.result::<JsValue<'js>>() {
        Some(result) => result.map_err(|error| failure::describe(ctx, shared, error)),
        None if shared.watch.is_over() || shared.watch.has_fired() => Err(failure::over_time(shared, Vec::new())),
        None => Err(ScriptError::new(
            ErrorKind::NeverSettles,
            "the promise would never settle: nothing is left that could resolve it",
        )
        .with_hint("there are no timers and no I/O; resolve the promise from the script itself")),
    }
}

/// Runs what is left in the queue, as a program does before it ends, so that no script pays for another's jobs.
pub(crate) fn drain(ctx: &Ctx<'_>, shared: &Shared) -> Result<(), ScriptError> {
    while ctx.execute_pending_job() {
        if shared.watch.is_over() {
            break;
        }
    }
    if shared.watch.has_fired() {
        return Err(failure::over_time(shared, Vec::new()));
    }
    Ok(())
}

/// The promise to wait for, also for an object that merely has a `then`.
fn awaited<'js>(ctx: &Ctx<'js>, value: JsValue<'js>) -> Option<rquickjs::Result<Promise<'js>>> {
    if let Some(promise) = value.as_promise() {
        return Some(Ok(promise.clone()));
    }
    let then = value.as_object()?.get::<_, JsValue<'js>>("then");
    match then {
        Ok(then) if !then.is_function() => None,
        Ok(_) => Some(ctx.promise().and_then(|(promise, resolve, _)| {
            resolve.call::<_, ()>((value,))?;
            Ok(promise)
        })),
        Err(error) => Some(Err(error)),
    }
}
