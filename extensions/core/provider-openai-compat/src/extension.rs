//! Registers the two providers.

use crate::contract::{OPENAI_COMPAT, REHEARSAL};
use crate::provider::OpenAiCompat;
use crate::rehearsal::Rehearsal;
use dispatch_contracts::BoxFuture;
use dispatch_contracts::extension::{Extension, ExtensionError};
use dispatch_contracts::host::{Host, HostError};
use std::borrow::Cow;
use std::sync::Arc;

/// The extension.
#[must_use]
pub fn extension() -> Arc<dyn Extension> {
    Arc::new(Providers)
}

struct Providers;

impl Extension for Providers {
    fn manifest(&self) -> Cow<'_, str> {
        Cow::Borrowed(include_str!("../manifest.json"))
    }

    fn activate(&self, host: Host) -> BoxFuture<'_, Result<(), ExtensionError>> {
        Box::pin(std::future::ready(register(&host).map_err(ExtensionError::new)))
    }
}

fn register(host: &Host) -> Result<(), HostError> {
    let settings = host.all_settings()?;
    host.define_provider(OPENAI_COMPAT, Arc::new(OpenAiCompat::new(host.clone(), &settings)))?;
    host.define_provider(REHEARSAL, Arc::new(Rehearsal::new(host)))?;
    Ok(())
}
