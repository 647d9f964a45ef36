//! `dispatch git-event`: what the hooks that `dispatch init --git` installs call, beside git and never in its way.

use crate::app::Status;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::running::{Running, Threads};
use crate::settings::Loaded;
use dispatch_contracts::extension::Extension;
use dispatch_os::environment;
use ext_workspace_hooks::contract::{
    Event, ExecutionRecord, RUNS, Runs, RunsError, Status as RunStatus, git_event, workspace_of,
};
use std::sync::Arc;

/// A run of a workspace hook has this in its environment.
const RUN_VARIABLE: &str = "DISPATCH_RUN_ID";

#[derive(Debug, clap::Args)]
pub(crate) struct GitEventRequest {
    /// The hook of git
    hook: String,
    /// The commit that git made; HEAD may be a later one by the time this runs
    #[arg(long, value_name = "ID")]
    commit: Option<String>,
    /// Wait for the hooks that say `blocking`, and fail if one of them fails
    #[arg(long)]
    wait: bool,
    /// What git gave it
    #[arg(last = true)]
    arguments: Vec<String>,
}

pub(crate) fn run(
    loaded: &Loaded,
    extensions: Vec<Arc<dyn Extension>>,
    request: &GitEventRequest,
    printer: &Printer,
) -> Result<Status, Failure> {
    // A commit that a run makes must not start the run again.
    if environment::is_set(RUN_VARIABLE) {
        return Ok(Status::Done);
    }
    let workspace = workspace_of(&loaded.start);
    let Some(event) = git_event(&workspace, &request.hook, request.commit.as_deref(), &request.arguments) else {
        return Err(Failure::usage(format!("unsupported git hook `{}`, or not in a git repository", request.hook)));
    };
    if request.wait {
        return answer(loaded, extensions, event, printer);
    }
    super::event::store(loaded, extensions, event)?;
    Ok(Status::Done)
}

/// Runs what the event starts and waits for the hooks that may refuse; git goes on only if all of them succeed.
fn answer(
    loaded: &Loaded,
    extensions: Vec<Arc<dyn Extension>>,
    event: Event,
    printer: &Printer,
) -> Result<Status, Failure> {
    let workspace = event.workspace.clone();
    let running = Running::start(loaded, extensions, Threads::Two)?;
    let outcome = running.service(&RUNS).and_then(|runs| {
        running.block_on(async {
            tokio::select! {
                worked = runs.work(&workspace) => worked.map(|()| Vec::new()).map_err(Failure::from),
                ended = blocking_ends(runs.as_ref(), event) => ended.map_err(Failure::from),
            }
        })
    });
    running.shutdown();
    let refused: Vec<ExecutionRecord> =
        outcome?.into_iter().filter(|record| record.status != RunStatus::Success).collect();
    for record in &refused {
        printer.warn(&format!("hook `{}` refuses: {}: {}", record.hook_id, record.status.word(), record.reason));
        record.logs.iter().for_each(|logs| printer.note(logs.trim_end()));
    }
    Ok(if refused.is_empty() { Status::Done } else { Status::No })
}

/// How the runs of hooks ended that say `blocking`.
async fn blocking_ends(runs: &dyn Runs, event: Event) -> Result<Vec<ExecutionRecord>, RunsError> {
    let set = runs.refresh(&event.workspace).await?;
    let blocks = |hook: &str| set.hooks.iter().any(|it| it.id == hook && it.blocking);
    let mut ended = Vec::new();
    for receipt in runs.submit(event).await? {
        if let Some(run) = receipt.run.filter(|_| blocks(&receipt.hook_id)) {
            ended.push(runs.wait(&run).await?);
        }
    }
    Ok(ended)
}
