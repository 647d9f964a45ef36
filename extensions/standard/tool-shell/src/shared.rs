//! What the shell tools share.

use std::path::{Path, PathBuf};

use dispatch_contracts::folders::Folders;
use dispatch_contracts::tool::{ToolContext, ToolError};
use dispatch_os::{Confined, OsError, files};

use crate::background::BackgroundCommands;
use crate::settings::ShellSettings;
use crate::shell::Shell;

/// The folder below the state folder that holds records of running commands.
const RECORDS_FOLDER: &str = "processes";

pub(crate) struct ShellToolsShared {
    pub(crate) folders: Folders,
    pub(crate) shell: Shell,
    pub(crate) background: BackgroundCommands,
}

impl ShellToolsShared {
    pub(crate) fn new(folders: Folders, settings: ShellSettings, background: BackgroundCommands) -> Self {
        let shell = Shell::new(settings, records(&folders));
        Self { folders, shell, background }
    }

    /// The workspace and the folder in it that a command runs in.
    pub(crate) fn place(&self, context: &ToolContext, asked: Option<&str>) -> Result<(Confined, PathBuf), ToolError> {
        let failed = |error: OsError| ToolError(format!("The command cannot run there: {error}."));
        let workspace = Confined::workspace(self.folders.project.as_deref(), &context.workdir).map_err(failed)?;
        let workspace = workspace.closing(&self.folders.closed_to_tools());
        let spot = workspace.locate(Path::new(asked.unwrap_or("."))).map_err(failed)?;
        let folder = spot.path().to_path_buf();
        if !files::is_dir(&folder) {
            return Err(ToolError(format!("workdir {} is not a folder.", asked.unwrap_or("."))));
        }
        Ok((workspace, folder))
    }
}

pub(crate) fn records(folders: &Folders) -> PathBuf {
    folders.state.join(RECORDS_FOLDER)
}
