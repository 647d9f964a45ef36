//! Typed service handles: exactly one responder, found by a constant.

use crate::BoxFuture;
use crate::hook::HandlerError;
use serde_json::Value;
use std::any::Any;
use std::marker::PhantomData;
use std::sync::Arc;

/// A service that one extension provides and others call.
pub struct Service<T: ?Sized> {
    id: &'static str,
    interface: PhantomData<fn() -> Box<T>>,
}

impl<T: ?Sized> Service<T> {
    /// Declares a service; the id is `owner/name`.
    pub const fn new(id: &'static str) -> Self {
        Self { id, interface: PhantomData }
    }

    /// The id, `owner/name`.
    pub const fn id(&self) -> &'static str {
        self.id
    }
}

/// The JSON face of a service: methods by name, arguments and answers as JSON. Its owner declares it, so that extensions
/// in other languages can call the service.
pub trait JsonService: Send + Sync {
    /// Calls a method; an error is for the caller and no fault of the owner.
    fn call(&self, method: &str, arguments: Vec<Value>) -> BoxFuture<'static, Result<Value, HandlerError>>;
}

/// A service as it is provided: with a type, with a JSON face, or with both.
#[derive(Clone, Default)]
pub struct ProvidedService {
    /// An `Arc<T>` of the service's interface; none if its owner is written in another language.
    pub typed: Option<Arc<dyn Any + Send + Sync>>,
    /// The same for callers in other languages; none unless the owner declares it.
    pub json: Option<Arc<dyn JsonService>>,
}
