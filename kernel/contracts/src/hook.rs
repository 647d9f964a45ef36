//! Typed hook descriptors: an event is observed, a filter turns a value into a value.
//!
//! A descriptor is a `const` of its owner's contract. Its id is written once, there; consumers name
//! the constant, so a misspelt hook does not compile.

use crate::BoxFuture;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::any::Any;
use std::marker::PhantomData;
use std::sync::Arc;

/// What may travel on a hook: data that scripts and clients can read as JSON.
pub trait Payload: Serialize + DeserializeOwned + Clone + Send + Sync + 'static {}

impl<T: Serialize + DeserializeOwned + Clone + Send + Sync + 'static> Payload for T {}

/// How long a filter handler may take unless the owner says otherwise.
pub const DEFAULT_FILTER_TIMEOUT_MS: u64 = 5_000;

/// How long an event handler may take before it is given up.
pub const EVENT_HANDLER_TIMEOUT_MS: u64 = 30_000;

/// An event: a fact that happened, observed by any number of handlers.
pub struct Event<T> {
    id: &'static str,
    payload: PhantomData<fn() -> T>,
}

impl<T> Event<T> {
    /// Declares an event; the id is `owner/name`.
    pub const fn new(id: &'static str) -> Self {
        Self { id, payload: PhantomData }
    }

    /// The id, `owner/name`.
    pub const fn id(&self) -> &'static str {
        self.id
    }
}

/// What a filter's failure does to the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OnFailure {
    /// The handler is skipped; the value goes on as it was.
    Open,
    /// The chain ends with an error; the owner refuses what it was about to do.
    Closed,
}

/// What every handler of a filter must leave as it was: the value before, the value after.
pub type Invariant<T> = fn(&T, &T) -> Result<(), &'static str>;

/// A filter: a chain of handlers, each of which may change the value.
pub struct Filter<T> {
    id: &'static str,
    on_failure: OnFailure,
    timeout_ms: u64,
    invariant: Invariant<T>,
}

impl<T> Filter<T> {
    /// Declares a filter that fails open; the id is `owner/name`.
    pub const fn new(id: &'static str) -> Self {
        Self { id, on_failure: OnFailure::Open, timeout_ms: DEFAULT_FILTER_TIMEOUT_MS, invariant: anything_goes }
    }

    /// The same filter, failing closed.
    pub const fn fail_closed(mut self) -> Self {
        self.on_failure = OnFailure::Closed;
        self
    }

    /// The same filter with another time limit per handler.
    pub const fn timeout_ms(mut self, timeout_ms: u64) -> Self {
        self.timeout_ms = timeout_ms;
        self
    }

    /// The same filter, whose handlers fail when they break the invariant.
    pub const fn invariant(mut self, invariant: Invariant<T>) -> Self {
        self.invariant = invariant;
        self
    }

    /// The id, `owner/name`.
    pub const fn id(&self) -> &'static str {
        self.id
    }

    /// What to do with a failing handler and how long to wait for it.
    pub const fn chain(&self) -> Chain {
        Chain { id: self.id, on_failure: self.on_failure, timeout_ms: self.timeout_ms }
    }

    /// What a handler must leave as it was.
    pub const fn keeps(&self) -> Invariant<T> {
        self.invariant
    }
}

impl<T: Payload> Filter<T> {
    /// The same without the type: whoever runs the chain checks with it what each handler did, also those that were
    /// written in another language.
    pub fn erased_invariant(&self) -> ErasedInvariant {
        let keeps = self.invariant;
        Arc::new(move |before, after| {
            let (before, after) = (before.typed::<T>()?, after.typed::<T>()?);
            keeps(&before, &after).map_err(|broken| HandlerError(broken.to_owned()))
        })
    }
}

fn anything_goes<T>(_before: &T, _after: &T) -> Result<(), &'static str> {
    Ok(())
}

/// A filter without its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chain {
    /// The id, `owner/name`.
    pub id: &'static str,
    /// What a failing handler does to the chain.
    pub on_failure: OnFailure,
    /// How long each handler may take.
    pub timeout_ms: u64,
}

/// The extension that owns a hook: what stands before the slash.
pub fn owner_of(hook_id: &str) -> &str {
    hook_id.split_once('/').map_or(hook_id, |(owner, _)| owner)
}

/// Why a handler failed; counted against its extension.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct HandlerError(pub String);

/// A payload without its type: cheap to share, and readable as JSON on demand.
#[derive(Clone)]
pub struct ErasedValue {
    value: Arc<dyn Any + Send + Sync>,
    write: fn(&(dyn Any + Send + Sync)) -> Result<Value, HandlerError>,
    read: fn(Value) -> Result<Self, HandlerError>,
}

impl ErasedValue {
    /// Takes the type off a payload.
    pub fn new<T: Payload>(value: T) -> Self {
        Self { value: Arc::new(value), write: write_json::<T>, read: read_json::<T> }
    }

    /// Puts the type back on.
    pub fn typed<T: Payload>(&self) -> Result<Arc<T>, HandlerError> {
        Arc::clone(&self.value).downcast::<T>().map_err(|_| wrong_type::<T>())
    }

    /// Whether both payloads have the same type.
    pub fn same_type(&self, other: &Self) -> bool {
        self.value.as_ref().type_id() == other.value.as_ref().type_id()
    }

    /// The payload as JSON.
    pub fn to_json(&self) -> Result<Value, HandlerError> {
        (self.write)(self.value.as_ref())
    }

    /// A payload of the same type, from JSON.
    pub fn with_json(&self, json: Value) -> Result<Self, HandlerError> {
        (self.read)(json)
    }
}

fn write_json<T: Payload>(value: &(dyn Any + Send + Sync)) -> Result<Value, HandlerError> {
    let value = value.downcast_ref::<T>().ok_or_else(wrong_type::<T>)?;
    serde_json::to_value(value).map_err(|error| HandlerError(error.to_string()))
}

fn read_json<T: Payload>(json: Value) -> Result<ErasedValue, HandlerError> {
    serde_json::from_value::<T>(json)
        .map(ErasedValue::new)
        .map_err(|error| HandlerError(format!("the answer does not fit the hook: {error}")))
}

fn wrong_type<T>() -> HandlerError {
    HandlerError(format!("the payload is not a {}", std::any::type_name::<T>()))
}

/// An event handler without its type.
pub type EventHandler = Arc<dyn Fn(ErasedValue) -> BoxFuture<'static, Result<(), HandlerError>> + Send + Sync>;

/// A filter handler without its type.
pub type FilterHandler =
    Arc<dyn Fn(ErasedValue) -> BoxFuture<'static, Result<ErasedValue, HandlerError>> + Send + Sync>;

/// What a handler must leave as it was, without the type of the value: the value before, the value after.
pub type ErasedInvariant = Arc<dyn Fn(&ErasedValue, &ErasedValue) -> Result<(), HandlerError> + Send + Sync>;

/// An observer of every event; for observability, never for features.
pub type AnyHandler = Arc<dyn Fn(&str, &ErasedValue) + Send + Sync>;

/// Why a filter chain refused a value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{hook}` refused to go on because extension `{extension}` failed: {cause}")]
pub struct ChainFailed {
    /// The filter.
    pub hook: String,
    /// Whose handler failed.
    pub extension: String,
    /// How it failed.
    pub cause: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_survives_json_and_keeps_its_type() {
        let value = ErasedValue::new(vec![1_u8, 2]);
        assert_eq!(value.to_json().unwrap(), serde_json::json!([1, 2]));
        let other = value.with_json(serde_json::json!([7])).unwrap();
        assert_eq!(*other.typed::<Vec<u8>>().unwrap(), vec![7]);
        assert!(value.with_json(serde_json::json!("no list")).is_err());
        assert!(value.typed::<String>().is_err());
        assert!(value.same_type(&other) && !value.same_type(&ErasedValue::new(1_u8)));
    }

    #[test]
    fn the_owner_stands_before_the_slash() {
        assert_eq!(owner_of("kernel/turn.sealed"), "kernel");
        assert_eq!(owner_of("plain"), "plain");
    }
}
