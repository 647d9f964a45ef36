//! Defines the search tools when the program starts.

use std::borrow::Cow;
use std::sync::Arc;

use dispatch_contracts::BoxFuture;
use dispatch_contracts::extension::{Extension, ExtensionError};
use dispatch_contracts::harness::Harness;
use dispatch_contracts::host::{Host, HostError};

use crate::tool::SearchTool;
use crate::{contents, names};

/// The extension.
#[must_use]
pub fn extension() -> Arc<dyn Extension> {
    Arc::new(SearchToolsExtension)
}

struct SearchToolsExtension;

impl Extension for SearchToolsExtension {
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
    for (spec, run) in [(contents::spec(), contents::run as _), (names::spec(), names::run as _)] {
        host.define_tool(Arc::new(SearchTool::new(spec, run, host.folders())))?;
    }
    Ok(())
}
