//! `dispatch git-event`: what the hooks that `dispatch init --git` installs call, beside git and never in its way.

use crate::app::Status;
use crate::failure::Failure;
use crate::settings::Loaded;
use dispatch_contracts::extension::Extension;
use dispatch_os::environment;
use ext_workspace_hooks::contract::{git_event, workspace_of};
use std::sync::Arc;

/// A run of a workspace hook has this in its environment.
const RUN_VARIABLE: &str = "DISPATCH_RUN_ID";

#[derive(Debug, clap::Args)]
pub(crate) struct GitEventRequest {
    /// The hook of git
    hook: String,
    /// What git gave it
    #[arg(last = true)]
    arguments: Vec<String>,
}

pub(crate) fn run(
    loaded: &Loaded,
    extensions: Vec<Arc<dyn Extension>>,
    request: &GitEventRequest,
) -> Result<Status, Failure> {
    // A commit that a run makes must not start the run again.
    if environment::is_set(RUN_VARIABLE) {
        return Ok(Status::Done);
    }
    let workspace = workspace_of(&loaded.start);
    let Some(event) = git_event(&workspace, &request.hook, &request.arguments) else {
        return Err(Failure::usage(format!("unsupported git hook `{}`, or not in a git repository", request.hook)));
    };
    super::event::store(loaded, extensions, event)?;
    Ok(Status::Done)
}
