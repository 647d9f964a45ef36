//! Defines the tool when the program starts.

use std::borrow::Cow;
use std::sync::Arc;

use dispatch_contracts::BoxFuture;
use dispatch_contracts::extension::{Extension, ExtensionError};
use dispatch_contracts::harness::Harness;
use dispatch_contracts::host::Host;

use crate::tool::TodoTool;

/// The extension.
#[must_use]
pub fn extension() -> Arc<dyn Extension> {
    Arc::new(TodoExtension)
}

struct TodoExtension;

impl Extension for TodoExtension {
    fn manifest(&self) -> Cow<'_, str> {
        Cow::Borrowed(include_str!("../manifest.json"))
    }

    fn harness(&self) -> Harness {
        dispatch_contracts::harness!()
    }

    fn activate(&self, host: Host) -> BoxFuture<'_, Result<(), ExtensionError>> {
        let tool = Arc::new(TodoTool::new(host.clone()));
        Box::pin(std::future::ready(host.define_tool(tool).map(drop).map_err(ExtensionError::new)))
    }
}
