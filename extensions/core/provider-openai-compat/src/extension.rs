//! Registers the two providers.

use crate::contract::{OPENAI_COMPAT, REHEARSAL};
use crate::provider::OpenAiCompatProvider;
use crate::rehearsal::RehearsalProvider;
use dispatch_contracts::BoxFuture;
use dispatch_contracts::extension::{Extension, ExtensionError};
use dispatch_contracts::harness::Harness;
use dispatch_contracts::host::{Host, HostError};
use std::borrow::Cow;
use std::sync::Arc;

/// The extension.
#[must_use]
pub fn extension() -> Arc<dyn Extension> {
    Arc::new(ProvidersExtension)
}

struct ProvidersExtension;

impl Extension for ProvidersExtension {
    fn manifest(&self) -> Cow<'_, str> {
        Cow::Borrowed(include_str!("../manifest.json"))
    }

    fn harness(&self) -> Harness {
        dispatch_contracts::harness!()
    }

    fn activate(&self, host: Host) -> BoxFuture<'_, Result<(), ExtensionError>> {
        Box::pin(std::future::ready(register(&host).map_err(ExtensionError::new)))
    }
}

fn register(host: &Host) -> Result<(), HostError> {
    let settings = host.all_settings()?;
    host.define_provider(OPENAI_COMPAT, Arc::new(OpenAiCompatProvider::new(host.clone(), &settings)))?;
    host.define_provider(REHEARSAL, Arc::new(RehearsalProvider::new(host)))?;
    Ok(())
}
