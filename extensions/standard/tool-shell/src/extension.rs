//! Ends what a crash left running, then defines the shell tools; ends everything at shutdown.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use dispatch_contracts::BoxFuture;
use dispatch_contracts::extension::{Extension, ExtensionError};
use dispatch_contracts::harness::Harness;
use dispatch_contracts::host::{Host, HostError};
use dispatch_contracts::ports::Level;
use dispatch_os::process::sweep;
use serde_json::{Map, Value};

use crate::background::BackgroundCommands;
use crate::settings::{SandboxMode, ShellSettings};
use crate::shared::{ShellToolsShared, records};
use crate::tools;

/// How long the shutdown waits for background commands; a guardian ends what is left.
const SHUTDOWN_PATIENCE: Duration = Duration::from_secs(3);

/// The extension.
#[must_use]
pub fn extension() -> Arc<dyn Extension> {
    Arc::new(ShellToolsExtension { background: BackgroundCommands::default() })
}

struct ShellToolsExtension {
    background: BackgroundCommands,
}

impl Extension for ShellToolsExtension {
    fn manifest(&self) -> Cow<'_, str> {
        Cow::Borrowed(include_str!("../manifest.json"))
    }

    fn harness(&self) -> Harness {
        dispatch_contracts::harness!()
    }

    fn activate(&self, host: Host) -> BoxFuture<'_, Result<(), ExtensionError>> {
        end_leftovers(&host);
        Box::pin(std::future::ready(self.register(&host).map_err(ExtensionError::new)))
    }

    /// Waits on this thread: at the end of the program there is nothing else to do on it.
    fn deactivate(&self) -> BoxFuture<'_, Result<(), ExtensionError>> {
        self.background.end_all(SHUTDOWN_PATIENCE);
        Box::pin(std::future::ready(Ok(())))
    }
}

impl ShellToolsExtension {
    fn register(&self, host: &Host) -> Result<(), HostError> {
        let (folders, settings) = (host.folders(), ShellSettings::read(&host.settings()));
        let is_confined = settings.sandbox == SandboxMode::Workspace;
        let workdir = folders.workdir.clone();
        let shared = Arc::new(ShellToolsShared::new(folders, settings, self.background.clone()));
        if is_confined && let Err(error) = shared.shell.confinement(&workdir) {
            host.log(Level::Warn, &error.0, Map::new());
        }
        for tool in tools::all(&shared) {
            host.define_tool(tool)?;
        }
        Ok(())
    }
}

/// A failure here is told and does not keep the tools from working.
fn end_leftovers(host: &Host) {
    match sweep(&records(&host.folders())) {
        Ok(report) if report.killed > 0 => {
            let fields = Map::from_iter([("killed".to_owned(), Value::from(report.killed))]);
            host.log(Level::Warn, "Processes that a crashed run left behind were ended.", fields);
        }
        Ok(_) => {}
        Err(error) => {
            let message = format!("Processes of a crashed run could not be looked for: {error}.");
            host.log(Level::Warn, &message, Map::new());
        }
    }
}
