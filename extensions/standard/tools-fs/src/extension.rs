//! Defines the file tools when the program starts.

use std::borrow::Cow;
use std::sync::Arc;

use dispatch_contracts::BoxFuture;
use dispatch_contracts::extension::{Extension, ExtensionError};
use dispatch_contracts::harness::Harness;
use dispatch_contracts::host::{Host, HostError};

use crate::file_workspace::FileWorkspace;
use crate::tool::FileTool;
use crate::{edit, list, patch, read, write};

/// The extension.
#[must_use]
pub fn extension() -> Arc<dyn Extension> {
    Arc::new(FileToolsExtension)
}

struct FileToolsExtension;

impl Extension for FileToolsExtension {
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
    let files = Arc::new(FileWorkspace::new(host.folders()));
    for definition in [read::DEFINITION, write::DEFINITION, edit::DEFINITION, patch::DEFINITION, list::DEFINITION] {
        host.define_tool(Arc::new(FileTool::new(&definition, Arc::clone(&files))))?;
    }
    Ok(())
}
