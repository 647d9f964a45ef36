//! `dispatch lsp`: an editor reports its saves over the Language Server Protocol and sees what became of them.

use super::watch::something_waits;
use crate::app::Status;
use crate::failure::Failure;
use crate::policy_change::is_run_by_agent;
use crate::ports::{RuntimeSpawner, SystemClock};
use crate::running::{Running, Threads};
use crate::settings::Loaded;
use crate::stopping::asked_to_stop;
use dispatch_contracts::BoxFuture;
use dispatch_contracts::extension::Extension;
use dispatch_os::environment;
use ext_workspace_hooks::contract::{ClientExit, HookApprover, LspPorts, Membership, RUNS, Runs, Workers, serve_lsp};
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// How an editor calls the server.
#[derive(Debug, clap::Args)]
pub(crate) struct LspRequest {
    /// Serve on standard input and output; that is always so, and many editors say it
    #[arg(long)]
    #[allow(dead_code, reason = "accepted because clients send it")]
    stdio: bool,
}

/// The workspaces that an editor opened, with the word that their queues are worked on.
type OpenedWorkspaces = Arc<Mutex<Vec<(PathBuf, Option<Membership>)>>>;

/// Serves until the editor leaves or the program is asked to stop. Standard output carries the protocol alone. What is
/// left to run is left to a worker.
pub(crate) fn run(loaded: &Loaded, extensions: Vec<Arc<dyn Extension>>) -> Result<Status, Failure> {
    let running = Running::start(loaded, extensions, Threads::Two)?;
    let opened: OpenedWorkspaces = Arc::default();
    let workers = Workers::new(&loaded.dirs.state);
    let outcome = running.service(&RUNS).and_then(|runs| {
        let ports = LspPorts {
            runs: Arc::clone(&runs),
            spawner: Arc::new(RuntimeSpawner),
            clock: Arc::new(SystemClock::default()),
            fallback: loaded.start.clone(),
            data: loaded.dirs.data.clone(),
            state: loaded.dirs.state.clone(),
            approver: if is_run_by_agent(loaded) { HookApprover::Agent } else { HookApprover::Person },
            opened: joining(workers.clone(), Arc::clone(&opened)),
            leaving: leaving(Arc::clone(&runs), workers.clone(), Arc::clone(&opened)),
        };
        running.block_on(async {
            let input = Box::new(BufReader::new(std::io::stdin()));
            let served = tokio::select! {
                served = serve_lsp(input, Box::new(std::io::stdout()), ports) => served,
                () = asked_to_stop() => Ok(ClientExit::Proper),
            };
            runs.drain().await;
            leave(runs.as_ref(), &workers, &opened).await?;
            served.map_err(|error| Failure::internal(format!("the server could not start: {error}")))
        })
    });
    running.shutdown();
    outcome.map(|exit| if exit == ClientExit::Proper { Status::Done } else { Status::No })
}

/// Hands over before the editor is told that it may leave: some kill their servers as soon as they are told. What fails
/// here is tried again, and told, when the server ends.
fn leaving(
    runs: Arc<dyn Runs>,
    workers: Workers,
    opened: OpenedWorkspaces,
) -> Box<dyn FnMut() -> BoxFuture<'static, ()> + Send> {
    Box::new(move || {
        let (runs, workers, opened) = (Arc::clone(&runs), workers.clone(), Arc::clone(&opened));
        Box::pin(async move {
            let _ = leave(runs.as_ref(), &workers, &opened).await;
        })
    })
}

/// Leaves what waits and what goes to a worker of its own.
async fn leave(runs: &dyn Runs, workers: &Workers, opened: &OpenedWorkspaces) -> Result<(), Failure> {
    for workspace in left_workspaces(opened) {
        if something_waits(runs, &workspace).await? {
            workers.ensure(&workspace, &environment::current_program()?)?;
        }
    }
    Ok(())
}

/// The workspaces of the editor. This process no longer counts as one that works on their queues.
fn left_workspaces(opened: &OpenedWorkspaces) -> Vec<PathBuf> {
    let mut opened = opened.lock().unwrap_or_else(PoisonError::into_inner);
    let left = |(workspace, membership): &mut (PathBuf, Option<Membership>)| {
        drop(membership.take());
        workspace.clone()
    };
    opened.iter_mut().map(left).collect()
}

/// Says of each workspace that its queue is worked on.
fn joining(workers: Workers, opened: OpenedWorkspaces) -> Box<dyn FnMut(&Path) + Send> {
    Box::new(move |workspace| {
        // Without the lock somebody may start a second worker, which does no harm.
        let joined = (workspace.to_path_buf(), workers.join(workspace).ok());
        opened.lock().unwrap_or_else(PoisonError::into_inner).push(joined);
    })
}
