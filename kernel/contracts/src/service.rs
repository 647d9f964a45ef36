//! Typed service handles: exactly one responder, found by a constant.

use std::marker::PhantomData;

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
