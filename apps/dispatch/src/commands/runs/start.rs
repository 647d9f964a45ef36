//! `dispatch runs start` and what comes after a run was started by hand.

use super::follow::ended;
use super::{RunCommands, refused, view};
use crate::app::Status;
use crate::failure::Failure;
use crate::plain::one_line;
use crate::printer::Format;
use crate::stopping::asked_to_stop;
use dispatch_os::paths::resolve_inside;
use dispatch_os::{environment, files};
use ext_workspace_hooks::contract::{
    Change, Event, ExecutionRecord, FileChange, HookSet, RunId, Source, Status as RunStatus, Trigger, Workers,
};
use serde_json::Map;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How often a run that waits is looked at.
const LOOK: Duration = Duration::from_millis(300);
const REASON_CHARS: usize = 300;

/// Whether the command stays until the run is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    ForTheEnd,
    No,
}

impl From<bool> for Wait {
    fn from(wait: bool) -> Self {
        if wait { Self::ForTheEnd } else { Self::No }
    }
}

impl RunCommands<'_> {
    pub(super) async fn start(
        &self,
        hook: &str,
        files: &[PathBuf],
        wait: Wait,
        format: Format,
    ) -> Result<Status, Failure> {
        let set = self.runs.refresh(&self.workspace).await.map_err(refused)?;
        require(&set, hook)?;
        let files = files.iter().map(|file| self.file(file)).collect::<Result<Vec<_>, _>>()?;
        let event = Event {
            trigger: Trigger::Manual,
            workspace: self.workspace.clone(),
            files,
            source: Source::Person,
            hook: Some(hook.to_owned()),
            id: None,
            metadata: Map::new(),
        };
        let receipts = self.runs.submit(event).await.map_err(refused)?;
        let runs: Vec<RunId> = receipts.into_iter().filter_map(|receipt| receipt.run).collect();
        match runs.as_slice() {
            [] => Err(Failure::internal(format!("hook `{hook}` was not started"))),
            [run] => self.started(run, wait, format).await,
            many => self.all_started(many, wait, format).await,
        }
    }

    /// Says that a run was started, or how it went.
    pub(super) async fn started(&self, run: &RunId, wait: Wait, format: Format) -> Result<Status, Failure> {
        match wait {
            Wait::No => {
                self.wake();
                let record = self.record(&run.0).await?;
                self.tell(format, &record, || format!("{run} is queued"))
            }
            Wait::ForTheEnd => {
                let record = self.end_of(run).await?;
                self.tell(format, &record, || view::whole(&record))?;
                Ok(ended(&record))
            }
        }
    }

    /// The same for a hook of files that was started for several: one row, or one JSON object, for each.
    async fn all_started(&self, runs: &[RunId], wait: Wait, format: Format) -> Result<Status, Failure> {
        let mut status = Status::Done;
        for run in runs {
            if self.started(run, wait, format).await? != Status::Done {
                status = Status::No;
            }
        }
        Ok(status)
    }

    /// Works on the queue until the run is over. Whoever leaves before takes the run back.
    async fn end_of(&self, run: &RunId) -> Result<ExecutionRecord, Failure> {
        tokio::select! {
            record = self.runs.wait(run) => record.map_err(refused),
            worked = self.runs.work(&self.workspace) => {
                worked.map_err(refused)?;
                self.runs.wait(run).await.map_err(refused)
            }
            failed = self.say_why_it_waits(run) => Err(failed),
            () = asked_to_stop() => self.runs.cancel(run).await.map_err(refused),
        }
    }

    /// Prints each new reason for which the run still waits, such as a spent budget. Ends only if it cannot be asked.
    async fn say_why_it_waits(&self, run: &RunId) -> Failure {
        let mut told = String::new();
        loop {
            tokio::time::sleep(LOOK).await;
            let record = match self.runs.run(&run.0).await {
                Ok(record) => record,
                Err(error) => return refused(error),
            };
            if record.status == RunStatus::Queued && !record.reason.is_empty() && record.reason != told {
                self.printer.note(&format!("{run} waits: {}", one_line(&record.reason, REASON_CHARS)));
                told = record.reason;
            }
        }
    }

    /// A file that the user names, as runs know it.
    fn file(&self, file: &Path) -> Result<FileChange, Failure> {
        let outside = || {
            Failure::usage(format!("{} is not in the workspace {}", file.display(), self.workspace.display()))
                .hint("name a file of the workspace")
        };
        let from_here = self.loaded.start.join(file);
        let found = resolve_inside(&self.workspace, &from_here)?;
        if !found.is_inside() {
            return Err(outside());
        }
        let relative = found.path.strip_prefix(&self.workspace).map_err(|_| outside())?;
        let parts: Option<Vec<&str>> = relative.iter().map(|part| part.to_str()).collect();
        let path = parts.map(|parts| parts.join("/")).filter(|path| !path.is_empty()).ok_or_else(outside)?;
        let change = if files::exists(&found.path) { Change::Changed } else { Change::Deleted };
        Ok(FileChange { path, change, content_hash: None })
    }

    /// Starts a worker for the queue, unless there is one.
    fn wake(&self) {
        let workers = Workers::new(&self.loaded.dirs.state);
        let started =
            environment::current_program().is_ok_and(|program| workers.ensure(&self.workspace, &program).is_ok());
        if !started {
            self.printer.warn("cannot start a worker; `dispatch watch` processes the queue");
        }
    }
}

/// Refuses a hook that is not in force, and says why.
fn require(set: &HookSet, hook: &str) -> Result<(), Failure> {
    if set.hooks.iter().any(|it| it.id == hook) {
        return Ok(());
    }
    if let Some(dormant) = set.dormant.iter().find(|it| it.hook_id == hook) {
        return Err(Failure::usage(format!("hook `{hook}` does not run: {}", dormant.reason))
            .hint("`dispatch workspace-hooks list` shows the hooks"));
    }
    let failure = Failure::usage(format!("unknown hook `{hook}`"));
    Err(match set.problems.is_empty() {
        true => failure.hint("`dispatch workspace-hooks list` shows the hooks"),
        false => failure.hint("the file has problems; `dispatch workspace-hooks check` lists them"),
    })
}
