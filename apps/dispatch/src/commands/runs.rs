//! `dispatch runs`: what workspace hooks did, do and will do, and the hand that starts, stops and repeats them.

mod apply;
mod follow;
mod start;
mod view;

use crate::app::Status;
use crate::failure::Failure;
use crate::printer::{Format, Printer};
use crate::running::{Running, Threads};
use crate::settings::Loaded;
use dispatch_contracts::extension::Extension;
use ext_workspace_hooks::contract::{
    ExecutionRecord, RUNS, RunQuery, Runs, RunsError, Status as RunStatus, workspace_of,
};
use std::path::PathBuf;
use std::sync::Arc;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum RunsCommand {
    /// Print the runs of this workspace, the newest first
    List {
        /// Only runs of this hook
        #[arg(long, value_name = "HOOK")]
        hook: Option<String>,
        /// Only runs in this state; can be given more than once
        #[arg(long, value_name = "STATUS", value_parser = view::status)]
        status: Vec<RunStatus>,
        /// Runs of every workspace
        #[arg(long)]
        all: bool,
        /// At most so many
        #[arg(long, value_name = "COUNT", default_value_t = 50)]
        limit: u32,
        /// Print one JSON list instead of text
        #[arg(long)]
        json: bool,
    },
    /// Print one run and what it printed
    Show {
        /// The run; the beginning of its id is enough
        id: String,
        /// Print what it prints as it comes, until it is over
        #[arg(long, conflicts_with = "json")]
        follow: bool,
        /// Print one JSON object instead of text
        #[arg(long)]
        json: bool,
    },
    /// Print every change of the runs of this workspace as it happens, or of one run until it is over
    Follow {
        /// The run
        id: Option<String>,
        /// Print one JSON object per line instead of text
        #[arg(long)]
        json: bool,
    },
    /// Run it again, with the hook as it is now
    Retry {
        /// The run
        id: String,
        /// Wait for its end; the exit status says how it went
        #[arg(long)]
        wait: bool,
        /// Print one JSON object instead of text
        #[arg(long)]
        json: bool,
    },
    /// Cancel a waiting run, or stop a running one
    Cancel {
        /// The run
        id: String,
        /// Print one JSON object instead of text
        #[arg(long)]
        json: bool,
    },
    /// Find runs by their hook, what they printed, their files or their reason
    Search {
        /// The text
        text: String,
        /// At most so many
        #[arg(long, value_name = "COUNT", default_value_t = 20)]
        limit: u32,
        /// Print one JSON list instead of text
        #[arg(long)]
        json: bool,
    },
    /// Start a hook by hand
    Start {
        /// The hook
        hook: String,
        /// A file of the workspace that it is about; may be given more than once
        #[arg(long, value_name = "FILE")]
        file: Vec<PathBuf>,
        /// Wait for its end; the exit status says how it went
        #[arg(long)]
        wait: bool,
        /// Print one JSON object instead of text
        #[arg(long)]
        json: bool,
    },
    /// Print how many runs go, wait, succeeded and failed, and how long they took
    Metrics {
        /// Print one JSON object instead of text
        #[arg(long)]
        json: bool,
    },
    /// Apply the change that a run offers as a patch
    Apply {
        /// The run
        id: String,
        /// Only say whether it would apply
        #[arg(long)]
        check: bool,
        /// Only print the patch
        #[arg(long, conflicts_with = "check")]
        show: bool,
    },
}

pub(crate) fn run(
    loaded: &Loaded,
    extensions: Vec<Arc<dyn Extension>>,
    command: &RunsCommand,
    printer: &Printer,
) -> Result<Status, Failure> {
    let waits = matches!(command, RunsCommand::Start { wait: true, .. } | RunsCommand::Retry { wait: true, .. });
    let running = match waits {
        // Whoever waits takes part in the work, so that it does not depend on anybody else.
        true => Running::start(loaded, extensions, Threads::Two)?,
        false => Running::look_at_runs(loaded, extensions)?,
    };
    let outcome = running.service(&RUNS).and_then(|runs| {
        let commands = RunCommands { runs: runs.as_ref(), workspace: workspace_of(&loaded.start), loaded, printer };
        running.block_on(commands.execute(command))
    });
    running.shutdown();
    outcome
}

/// What every command works with.
struct RunCommands<'a> {
    runs: &'a dyn Runs,
    workspace: PathBuf,
    loaded: &'a Loaded,
    printer: &'a Printer,
}

impl RunCommands<'_> {
    async fn execute(&self, command: &RunsCommand) -> Result<Status, Failure> {
        match command {
            RunsCommand::List { hook, status, all, limit, json } => {
                let workspace = (!all).then(|| self.workspace.clone());
                let query =
                    RunQuery { workspace, hook: hook.clone(), status: status.clone(), text: None, limit: Some(*limit) };
                self.list(query, (*json).into()).await
            }
            RunsCommand::Search { text, limit, json } => {
                let query = RunQuery {
                    workspace: Some(self.workspace.clone()),
                    text: Some(text.clone()),
                    limit: Some(*limit),
                    ..RunQuery::default()
                };
                self.list(query, (*json).into()).await
            }
            RunsCommand::Show { id, follow: true, .. } => self.follow_output(id).await,
            RunsCommand::Metrics { json } => self.metrics((*json).into()).await,
            RunsCommand::Show { id, json, follow: false } => {
                let record = self.record(id).await?;
                self.tell((*json).into(), &record, || view::whole(&record))
            }
            RunsCommand::Follow { id, json } => self.follow(id.as_deref(), (*json).into()).await,
            RunsCommand::Retry { id, wait, json } => {
                let record = self.record(id).await?;
                let again = self.runs.retry(&record.id).await.map_err(refused)?;
                self.started(&again, (*wait).into(), (*json).into()).await
            }
            RunsCommand::Cancel { id, json } => self.cancel(id, (*json).into()).await,
            RunsCommand::Start { hook, file, wait, json } => {
                self.start(hook, file, (*wait).into(), (*json).into()).await
            }
            RunsCommand::Apply { id, show: true, .. } => self.show_patch(id).await,
            RunsCommand::Apply { id, check, show: false } => self.apply(id, (*check).into()).await,
        }
    }

    async fn list(&self, query: RunQuery, format: Format) -> Result<Status, Failure> {
        let found = self.runs.list(query).await.map_err(refused)?;
        match format {
            Format::Json => self.printer.json(&found)?,
            Format::Text => self.printer.out(&view::listed(&found)),
        }
        Ok(Status::Done)
    }

    async fn metrics(&self, format: Format) -> Result<Status, Failure> {
        let metrics = self.runs.metrics(&self.workspace).await.map_err(refused)?;
        match format {
            Format::Json => self.printer.json(&metrics)?,
            Format::Text => self.printer.out(&view::metrics(&metrics)),
        }
        Ok(Status::Done)
    }

    async fn cancel(&self, id: &str, format: Format) -> Result<Status, Failure> {
        let before = self.record(id).await?;
        let record = match before.status.is_over() {
            true => before.clone(),
            false => self.runs.cancel(&before.id).await.map_err(refused)?,
        };
        let told = match record.status {
            _ if before.status.is_over() => "was already over",
            RunStatus::Canceled => "is canceled",
            RunStatus::Running => "is being stopped",
            _ => "was already over",
        };
        self.tell(format, &record, || format!("{} {told}", record.id))?;
        Ok(if before.status.is_over() { Status::No } else { Status::Done })
    }

    async fn record(&self, id: &str) -> Result<ExecutionRecord, Failure> {
        self.runs.run(id).await.map_err(refused)
    }

    fn tell(&self, format: Format, record: &ExecutionRecord, text: impl FnOnce() -> String) -> Result<Status, Failure> {
        match format {
            Format::Json => self.printer.json(record)?,
            Format::Text => self.printer.out(&text()),
        }
        Ok(Status::Done)
    }
}

/// What the runs refused, as a failure of the command.
fn refused(error: RunsError) -> Failure {
    let message = error.to_string();
    match error {
        RunsError::Unknown { what: "hook", .. } => {
            Failure::usage(message).hint("`dispatch workspace-hooks list` shows the hooks")
        }
        RunsError::Unknown { .. } => Failure::usage(message).hint("`dispatch runs list` shows the runs"),
        RunsError::Refused(_) => Failure::usage(message),
        RunsError::Full { .. } => Failure::usage(message).hint("`dispatch watch` works on what waits"),
        RunsError::Away(_) | RunsError::Storage(_) => {
            Failure::internal(message).hint("`dispatch doctor` looks at the storage")
        }
    }
}
