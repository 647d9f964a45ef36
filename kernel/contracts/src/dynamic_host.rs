//! The host for code that arrives while the program runs: hooks by the text of their id, values as JSON.
//!
//! For loaders of extensions in other languages. What is compiled into the program names descriptors instead, so that a
//! misspelt hook does not compile.

use crate::BoxFuture;
use crate::fault::FaultKind;
use crate::hook::{ErasedValue, EventHandler, FilterHandler, HandlerError};
use crate::host::{Contribution, HostBackend, HostError, Registration};
use crate::manifest::Capability;
use crate::service::{JsonService, ProvidedService};
use serde_json::Value;
use std::borrow::Cow;
use std::sync::Arc;

/// Handles an event as JSON.
pub type JsonEventHandler = Arc<dyn Fn(Value) -> BoxFuture<'static, Result<(), HandlerError>> + Send + Sync>;

/// Handles the value of a filter as JSON; `None` leaves it as it was.
pub type JsonFilterHandler =
    Arc<dyn Fn(Value) -> BoxFuture<'static, Result<Option<Value>, HandlerError>> + Send + Sync>;

/// A view of one extension's host. Every call passes the same checks as that of a typed one.
#[derive(Clone)]
pub struct DynamicHost {
    backend: Arc<dyn HostBackend>,
}

impl DynamicHost {
    /// A view of a backend.
    pub(crate) fn new(backend: Arc<dyn HostBackend>) -> Self {
        Self { backend }
    }

    /// Observes the event with this id.
    pub fn on(&self, id: &str, handler: JsonEventHandler) -> Result<Registration, HostError> {
        let erased: EventHandler = Arc::new(move |payload| match payload.to_json() {
            Ok(json) => handler(json),
            Err(error) => Box::pin(std::future::ready(Err(error))),
        });
        self.backend.on(id, erased)
    }

    /// Joins the filter chain with this id. What the owner of the filter keeps as it was holds here too.
    pub fn filter(&self, id: &str, priority: i32, handler: JsonFilterHandler) -> Result<Registration, HostError> {
        let erased: FilterHandler = Arc::new(move |value| match value.to_json() {
            Ok(json) => {
                let changed = handler(json);
                Box::pin(async move { changed.await?.map_or(Ok(value.clone()), |json| value.with_json(json)) })
            }
            Err(error) => Box::pin(std::future::ready(Err(error))),
        });
        self.backend.filter(id, priority, erased)
    }

    /// Emits the event with this id, which the extension owns and its manifest declares.
    pub fn emit(&self, id: &str, payload: Value) -> Result<(), HostError> {
        self.backend.emit(id, ErasedValue::new(payload))
    }

    /// Provides the service with this id.
    pub fn provide(&self, id: String, service: Arc<dyn JsonService>) -> Result<Registration, HostError> {
        let provided = ProvidedService { typed: None, json: Some(service) };
        self.backend.contribute(Contribution::Service(Cow::Owned(id), provided))
    }

    /// Finds the service with this id, if its owner declares a JSON face for it.
    pub fn service(&self, id: &str) -> Result<Arc<dyn JsonService>, HostError> {
        self.backend.service(id)?.json.ok_or_else(|| HostError::NoJsonFace { id: id.to_owned() })
    }

    /// Whether the extension has a capability; `action` is what it wants it for, as in "may not read files".
    pub fn require(&self, action: &'static str, capability: Capability) -> Result<(), HostError> {
        self.backend.require(action, capability)
    }

    /// Counts what happened outside the host, such as a worker that hung, as the extension's fault.
    pub fn report_fault(&self, place: &str, kind: FaultKind, message: &str) {
        self.backend.report_fault(place, kind, message);
    }
}
