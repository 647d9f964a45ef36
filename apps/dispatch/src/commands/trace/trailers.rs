//! `dispatch trace trailers`: the git hook runs it on a commit message; its failure does not stop a commit.

use super::TraceWorkspace;
use crate::app::Status;
use crate::failure::Failure;
use crate::printer::Printer;
use ext_intents::contract::IntentsError;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub(crate) struct TrailersRequest {
    /// The file with the commit message
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

pub(super) fn run(workspace: &TraceWorkspace, request: &TrailersRequest, printer: &Printer) -> Result<Status, Failure> {
    // Git gives the path relative to the folder in which it runs the hook.
    let file = dispatch_os::environment::current_folder()
        .map_or_else(|_| request.file.clone(), |folder| folder.join(&request.file));
    match workspace.intents.add_trailers(&file) {
        Ok(()) => {}
        Err(IntentsError::NoRepository { .. }) => {
            printer.warn("not a git repository; the commit message is unchanged");
        }
        Err(error) => printer.warn(&format!("cannot add intents to the commit message: {error}")),
    }
    Ok(Status::Done)
}
