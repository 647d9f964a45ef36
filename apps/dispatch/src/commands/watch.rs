//! `dispatch watch`: runs the hooks of the workspace when its files change, until it is stopped.

mod background;
mod run_outputs;
mod watch_printer;

use crate::app::Status;
use crate::failure::Failure;
use crate::printer::{Format, Printer};
use crate::running::{Running, Threads};
use crate::settings::Loaded;
use crate::stopping::asked_to_stop;
use background::BackgroundWatch;
use dispatch_contracts::extension::Extension;
use dispatch_os::time::rfc3339;
use ext_workspace_hooks::contract::{
    Event, HookSet, RUNS, RunQuery, Runs, RunsError, Status as RunStatus, WatchBatch, WatchError, Workers,
    watch_workspace, without_watcher, workspace_of,
};
use futures_util::{FutureExt, StreamExt};
use run_outputs::{ShowOutput, tell};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use watch_printer::WatchPrinter;

/// How long an event waits before it is offered again to a queue that did not take it.
const PAUSE: Duration = Duration::from_millis(500);
/// How often approvals are looked at: they are kept outside the workspace, where nothing is watched.
const LOOK: Duration = Duration::from_secs(1);
/// The user's own hooks, in the folder for configuration.
const GLOBAL_HOOKS: &str = "hooks.json";

#[derive(Debug, clap::Args)]
pub(crate) struct WatchRequest {
    /// Watch nothing; run what waits, and leave
    #[arg(long)]
    until_idle: bool,
    /// Watch without this terminal; `--stop` ends it
    #[arg(long, conflicts_with = "until_idle")]
    background: bool,
    /// Stop the process that watches this workspace
    #[arg(long, conflicts_with_all = ["until_idle", "background"])]
    stop: bool,
    /// Also handle the files that changed since the last `dispatch watch` was stopped
    #[arg(long, conflicts_with_all = ["until_idle", "background", "stop"])]
    catch_up: bool,
    /// Show what runs print, as it comes
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = ShowOutput::Auto)]
    output: ShowOutput,
    /// Print one JSON object for each run that ends instead of a line
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(
    loaded: &Loaded,
    extensions: Vec<Arc<dyn Extension>>,
    request: &WatchRequest,
    printer: &Printer,
) -> Result<Status, Failure> {
    let workspace = workspace_of(&loaded.start);
    let workers = Workers::new(&loaded.dirs.state);
    let watched = WatchedWorkspace { workspace, workers, format: request.json.into(), output: request.output };
    if request.until_idle {
        return watched.until_idle(loaded, extensions, printer);
    }
    if request.background || request.stop {
        let background = BackgroundWatch { workspace: &watched.workspace, workers: &watched.workers };
        return if request.stop { background.stop(printer) } else { background.start(loaded, printer) };
    }
    let claim = match watched.workers.claim_watch(&watched.workspace)? {
        Ok(claim) => claim,
        Err(other) => {
            let why = format!("{} is already watched by {other}", watched.workspace.display());
            return Err(Failure::usage(why).hint("stop it first, or follow what it does with `dispatch runs follow`"));
        }
    };
    let _membership = watched.workers.join(&watched.workspace)?;
    let running = Running::start(loaded, extensions, Threads::Two)?;
    let hooks_of_user = loaded.dirs.config.join(GLOBAL_HOOKS);
    let since_ms = claim.unwatched_since_ms.or(claim.left_ms.filter(|_| request.catch_up));
    if let Some(left_ms) = claim.left_ms.filter(|_| since_ms.is_none()) {
        let left = rfc3339(i64::try_from(left_ms).unwrap_or(i64::MAX));
        printer
            .note(&format!("files changed since {left} are not handled; `dispatch watch --catch-up` handles them too"));
    }
    let outcome = running
        .service(&RUNS)
        .and_then(|runs| running.block_on(watched.observe(runs, &hooks_of_user, since_ms, printer)));
    running.shutdown();
    drop(claim);
    outcome.map(|()| Status::Done)
}

/// What is watched, and for whom.
struct WatchedWorkspace {
    workspace: PathBuf,
    workers: Workers,
    format: Format,
    output: ShowOutput,
}

impl WatchedWorkspace {
    /// Runs what waits, unless another process already works on the queue.
    fn until_idle(
        &self,
        loaded: &Loaded,
        extensions: Vec<Arc<dyn Extension>>,
        printer: &Printer,
    ) -> Result<Status, Failure> {
        if self.workers.is_worked_on(&self.workspace) {
            return Ok(Status::Done);
        }
        let running = Running::start(loaded, extensions, Threads::Two)?;
        let outcome = running.service(&RUNS).and_then(|runs| running.block_on(self.work_off(runs, printer)));
        running.shutdown();
        outcome.map(|()| Status::Done)
    }

    fn printer<'a>(&'a self, printer: &'a Printer) -> WatchPrinter<'a> {
        WatchPrinter::new(self.format, &self.workspace, printer, self.output)
    }

    async fn work_off(&self, runs: Arc<dyn Runs>, printer: &Printer) -> Result<(), Failure> {
        let mut news = runs.news(&self.workspace).await?;
        let out = self.printer(printer);
        loop {
            let membership = self.workers.join(&self.workspace)?;
            let stopped = tokio::select! {
                worked = runs.work(&self.workspace) => worked.map(|()| ControlFlow::Break(()))?,
                idle = runs.idle(&self.workspace) => idle.map(|()| ControlFlow::Continue(()))?,
                () = tell(runs.as_ref(), &mut news, &out) => ControlFlow::Break(()),
                () = asked_to_stop() => ControlFlow::Break(()),
            };
            drop(membership);
            // Whoever stored a run and still saw us work relies on us, so the queue is looked at once more.
            if stopped.is_break() || !something_waits(runs.as_ref(), &self.workspace).await? {
                runs.drain().await;
                while let Some(Some(record)) = news.next().now_or_never() {
                    out.run(&record);
                }
                return Ok(());
            }
        }
    }

    async fn observe(
        &self,
        runs: Arc<dyn Runs>,
        hooks_of_user: &Path,
        unwatched_since_ms: Option<u64>,
        printer: &Printer,
    ) -> Result<(), Failure> {
        let out = self.printer(printer);
        let set = runs.refresh(&self.workspace).await?;
        let mut news = runs.news(&self.workspace).await?;
        let stopping = Arc::new(AtomicBool::new(false));
        let (send, mut noticed) = unbounded_channel();
        let first = set.clone();
        let deliver = delivery(Arc::clone(&runs), Handle::current(), send.clone(), Arc::clone(&stopping));
        let (watching, set) = match watch_workspace(&self.workspace, Some(hooks_of_user), unwatched_since_ms, deliver) {
            Ok(watching) => (Some(watching), set),
            Err(error @ WatchError::NoFolder { .. }) => return Err(error.into()),
            Err(error) => (None, self.unheard(set, &error, &out)?),
        };
        // Without a watcher nothing is noticed, and that is not the end.
        let silent = watching.is_none().then_some(send);
        self.workers.tell_ready(&self.workspace)?;
        out.watching(&set, watching.as_ref().map_or(0, |watching| watching.folders));
        out.set(&set);
        watching.iter().flat_map(|watching| &watching.notes).for_each(|note| printer.warn(note));
        let ended = tokio::select! {
            worked = runs.work(&self.workspace) => worked.map_err(Failure::from),
            () = tell(runs.as_ref(), &mut news, &out) => Ok(()),
            gone = self.follow(runs.as_ref(), &mut noticed, &out, first) => Err(gone),
            () = asked_to_stop() => Ok(()),
            () = self.asked_by_command() => Ok(()),
        };
        printer.note("stopping; unfinished runs continue the next time");
        stopping.store(true, Ordering::Release);
        drop(silent);
        if let Some(watching) = watching {
            watching.stop();
        }
        runs.drain().await;
        while let Some(Some(record)) = news.next().now_or_never() {
            out.run(&record);
        }
        ended
    }

    /// Resolves when `dispatch watch --stop` was run.
    async fn asked_by_command(&self) {
        while !self.workers.is_asked_to_stop(&self.workspace) {
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// The hooks that still run although the file system cannot be listened to.
    fn unheard(&self, set: HookSet, error: &WatchError, out: &WatchPrinter<'_>) -> Result<HookSet, Failure> {
        let why = format!("{}: {error}", error.code());
        self.workers.tell_unheard(&self.workspace, &why)?;
        if let Some(hint) = error.hint() {
            out.warn(hint);
        }
        Ok(without_watcher(set, &why))
    }

    /// Says what is noticed beside events, until the workspace is gone.
    async fn follow(
        &self,
        runs: &dyn Runs,
        noticed: &mut UnboundedReceiver<WatchNotice>,
        out: &WatchPrinter<'_>,
        mut set: HookSet,
    ) -> Failure {
        loop {
            let noticed = tokio::time::timeout(LOOK, noticed.recv()).await;
            match noticed.unwrap_or(Some(WatchNotice::Configuration)).unwrap_or(WatchNotice::End) {
                WatchNotice::Note(note) => out.warn(&note),
                WatchNotice::Configuration => match runs.refresh(&self.workspace).await {
                    Ok(new) if new == set => {}
                    Ok(new) => {
                        out.reloaded(&new);
                        set = new;
                    }
                    Err(error) => out.warn(&format!("cannot read the hooks: {error}")),
                },
                WatchNotice::End => break,
            }
        }
        Failure::internal(format!("the workspace {} was removed", self.workspace.display()))
    }
}

/// Whether a run of a workspace waits or goes.
pub(super) async fn something_waits(runs: &dyn Runs, workspace: &Path) -> Result<bool, RunsError> {
    let query = RunQuery {
        workspace: Some(workspace.to_path_buf()),
        status: vec![RunStatus::Queued, RunStatus::Running],
        limit: Some(1),
        ..RunQuery::default()
    };
    runs.list(query).await.map(|waiting| !waiting.is_empty())
}

/// What the watcher says beside events.
enum WatchNotice {
    Note(String),
    Configuration,
    End,
}

/// Hands over what the watcher notices. While the queue takes nothing, the watcher is kept waiting and gathers.
fn delivery(
    runs: Arc<dyn Runs>,
    runtime: Handle,
    noticed: UnboundedSender<WatchNotice>,
    stopping: Arc<AtomicBool>,
) -> Box<dyn FnMut(WatchBatch) + Send> {
    Box::new(move |batch| {
        // Nobody listens any more when the command ends.
        let say = |what| drop(noticed.send(what));
        if batch.configuration {
            say(WatchNotice::Configuration);
        }
        batch.notes.into_iter().for_each(|note| say(WatchNotice::Note(note)));
        for event in batch.events {
            if let Err(error) = runtime.block_on(submit(runs.as_ref(), event, &stopping)) {
                say(WatchNotice::Note(format!("cannot queue an event: {error}")));
            }
        }
        if batch.ended {
            say(WatchNotice::End);
        }
    })
}

/// Offers an event until it is stored. Only the end of the program or an event that can never be stored ends it.
async fn submit(runs: &dyn Runs, event: Event, stopping: &AtomicBool) -> Result<(), RunsError> {
    loop {
        match runs.submit(event.clone()).await {
            Ok(_) => return Ok(()),
            Err(RunsError::Full { .. } | RunsError::Away(_) | RunsError::Storage(_))
                if !stopping.load(Ordering::Acquire) =>
            {
                tokio::time::sleep(PAUSE).await;
            }
            Err(error) => return Err(error),
        }
    }
}
