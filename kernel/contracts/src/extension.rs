//! An extension: a manifest and a way to activate it.

use crate::BoxFuture;
use crate::harness::Harness;
use crate::host::Host;
use std::borrow::Cow;

/// Why an extension could not start or stop.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ExtensionError(pub String);

impl ExtensionError {
    /// Wraps any failure as the reason an extension did not start.
    pub fn new(cause: impl std::fmt::Display) -> Self {
        Self(cause.to_string())
    }
}

/// A unit of function. Bundled and external ones pass the same checks.
pub trait Extension: Send + Sync {
    /// The text of `manifest.json`.
    fn manifest(&self) -> Cow<'_, str>;
    /// Its texts for people and agents: [`crate::harness!`] embeds those of the calling crate.
    fn harness(&self) -> Harness {
        Harness::EMPTY
    }
    /// Registers everything the extension adds. Called once, after what it depends on.
    fn activate(&self, host: Host) -> BoxFuture<'_, Result<(), ExtensionError>>;
    /// Releases what the host cannot: connections, files. Registrations are disposed by the host.
    fn deactivate(&self) -> BoxFuture<'_, Result<(), ExtensionError>> {
        Box::pin(std::future::ready(Ok(())))
    }
}
