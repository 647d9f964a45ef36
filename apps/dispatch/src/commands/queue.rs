//! `dispatch queue`: the messages that wait or run in the sessions, in any process.

use crate::app::Status;
use crate::failure::Failure;
use crate::plain::one_line;
use crate::printer::{Format, Printer, table};
use crate::running::Running;
use crate::settings::Loaded;
use dispatch_contracts::extension::Extension;
use dispatch_os::files::absolute;
use dispatch_os::time;
use ext_session_orchestrator::contract::{CancelOutcome, DispatchId, DispatchView, Mode, SESSIONS, Sessions};
use serde_json::json;
use std::path::PathBuf;
use std::sync::Arc;

/// What is shown of a message.
const TEXT_CHARS: usize = 80;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum QueueCommand {
    /// List messages that wait or run, in order
    Show {
        /// Only this session
        #[arg(long, short, value_name = "LABEL")]
        session: Option<String>,
        /// Print one JSON object instead of text
        #[arg(long)]
        json: bool,
    },
    /// Send a waiting message to another folder; it runs there with that folder's settings and rules
    Move {
        /// The message's id, as `queue show` prints it
        id: String,
        /// The folder
        folder: PathBuf,
        /// Print one JSON object instead of text
        #[arg(long)]
        json: bool,
    },
    /// Let a message wait again that was parked because it failed too often
    Retry {
        /// The message's id, as `event show` prints it
        id: String,
        /// Print one JSON object instead of text
        #[arg(long)]
        json: bool,
    },
    /// Cancel a waiting message or stop its turn
    Cancel {
        /// The message's id, as `queue show` prints it
        id: String,
        /// Print one JSON object instead of text
        #[arg(long)]
        json: bool,
    },
}

pub(crate) fn run(
    loaded: &Loaded,
    extensions: Vec<Arc<dyn Extension>>,
    command: &QueueCommand,
    printer: &Printer,
) -> Result<Status, Failure> {
    let running = Running::look_at_conversations(loaded, extensions)?;
    let outcome =
        running.service(&SESSIONS).and_then(|sessions| running.block_on(obey(sessions.as_ref(), command, printer)));
    running.shutdown();
    outcome
}

async fn obey(sessions: &dyn Sessions, command: &QueueCommand, printer: &Printer) -> Result<Status, Failure> {
    match command {
        QueueCommand::Show { session, json } => {
            let found = sessions.queue(session.as_deref()).await.map_err(super::chat::turns::refused)?;
            match Format::from(*json) {
                Format::Json => printer.json(&json!({ "queue": found }))?,
                Format::Text => printer.out(&listed(&found)),
            }
            Ok(Status::Done)
        }
        QueueCommand::Move { id, folder, json } => {
            let folder = absolute(folder).map_err(|error| Failure::of(Status::Usage, &error))?;
            let moved = sessions.relocate(&DispatchId::new(id.as_str()), &folder).await.map_err(|error| {
                super::chat::turns::refused(error).hint("`dispatch queue show` shows what waits and where")
            })?;
            match Format::from(*json) {
                Format::Json => printer.json(&moved)?,
                Format::Text => printer.out(&format!("{id} runs in {} when a process works there", folder.display())),
            }
            Ok(Status::Done)
        }
        QueueCommand::Retry { id, json } => {
            let again = sessions.retry(&DispatchId::new(id.as_str())).await;
            let again = again.map_err(super::chat::turns::refused)?;
            match Format::from(*json) {
                Format::Json => printer.json(&again)?,
                Format::Text => printer.out(&format!("{id} waits again")),
            }
            Ok(Status::Done)
        }
        QueueCommand::Cancel { id, json } => {
            let cancelled = sessions.cancel(&DispatchId::new(id.as_str())).await;
            let outcome = cancelled.map_err(|error| {
                super::chat::turns::refused(error).hint("`dispatch queue show` shows what waits or runs")
            })?;
            match Format::from(*json) {
                Format::Json => printer.json(&json!({ "id": id, "outcome": outcome }))?,
                Format::Text => printer.out(&format!("{id} {}", words(outcome))),
            }
            Ok(if outcome == CancelOutcome::TooLate { Status::No } else { Status::Done })
        }
    }
}

fn words(outcome: CancelOutcome) -> &'static str {
    match outcome {
        CancelOutcome::Cancelled => "is cancelled",
        CancelOutcome::Stopping => "is stopping; its turn ends within seconds",
        CancelOutcome::TooLate => "had already ended",
    }
}

/// What waits or runs, as a table.
pub(crate) fn listed(queue: &[DispatchView]) -> String {
    if queue.is_empty() {
        return "no messages wait or run".to_owned();
    }
    let row = |view: &DispatchView| {
        vec![
            view.id.to_string(),
            one_line(&view.session, TEXT_CHARS),
            view.state.word().to_owned(),
            mode(view.mode).to_owned(),
            moment(view.at_ms),
            view.folder.as_ref().map(|folder| folder.display().to_string()).unwrap_or_default(),
            one_line(&view.text, TEXT_CHARS),
        ]
    };
    let reason = |view: &DispatchView| (!view.reason.is_empty()).then(|| format!("{}: {}", view.id, view.reason));
    let reasons: Vec<String> = queue.iter().filter_map(reason).collect();
    let listed = table(&queue.iter().map(row).collect::<Vec<_>>());
    if reasons.is_empty() { listed } else { format!("{listed}\n\n{}", reasons.join("\n")) }
}

const fn mode(mode: Mode) -> &'static str {
    match mode {
        Mode::Steer => "steer",
        Mode::Followup => "followup",
        Mode::Collect => "collect",
        Mode::Interrupt => "interrupt",
    }
}

/// A moment as people write it, in UTC.
pub(crate) fn moment(at_ms: u64) -> String {
    time::rfc3339(i64::try_from(at_ms).unwrap_or(i64::MAX))
}
