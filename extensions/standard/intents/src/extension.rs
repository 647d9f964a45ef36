//! The intents as an extension: adds its module to the hook pipeline of our own agent.

use std::borrow::Cow;
use std::sync::Arc;

use dispatch_contracts::BoxFuture;
use dispatch_contracts::extension::{Extension, ExtensionError};
use dispatch_contracts::harness::Harness;
use dispatch_contracts::host::{Host, HostError};
use dispatch_hook_module::service::HOOK_MODULES;

use crate::agent_tools::{ListIntentsTool, SelectIntentTool};
use crate::module::IntentsModule;

/// The extension.
#[must_use]
pub fn extension() -> Arc<dyn Extension> {
    Arc::new(IntentsExtension)
}

struct IntentsExtension;

impl Extension for IntentsExtension {
    fn manifest(&self) -> Cow<'_, str> {
        Cow::Borrowed(include_str!("../manifest.json"))
    }

    fn harness(&self) -> Harness {
        dispatch_contracts::harness!()
    }

    fn activate(&self, host: Host) -> BoxFuture<'_, Result<(), ExtensionError>> {
        Box::pin(std::future::ready(add_parts(&host).map_err(ExtensionError::new)))
    }
}

fn add_parts(host: &Host) -> Result<(), HostError> {
    add_module(host)?;
    host.define_tool(Arc::new(SelectIntentTool::new()))?;
    host.define_tool(Arc::new(ListIntentsTool::new()))?;
    Ok(())
}

/// Without the hook pipeline there is nothing to check a call with, and the commands still work.
fn add_module(host: &Host) -> Result<(), HostError> {
    match host.service(&HOOK_MODULES) {
        Ok(modules) => modules.add(&IntentsModule),
        Err(HostError::NoService { .. }) => {}
        Err(error) => return Err(error),
    }
    Ok(())
}
