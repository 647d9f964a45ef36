//! `dispatch event`: events from outside, stored before anything else happens with them.

mod list;
mod mark;
mod post;
mod send;
mod show;

use crate::app::Status;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::running::{Running, Threads};
use crate::settings::Loaded;
use dispatch_contracts::extension::Extension;
use ext_event_ledger::contract::{EVENT_LEDGER, EventLedger, LedgerError};
use ext_session_orchestrator::contract::OUTBOX;
use std::sync::Arc;

pub(super) use send::store;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum EventCommand {
    /// Store a message as an event; routing hooks say where it goes
    Post(post::PostRequest),
    /// List events, oldest first
    List(list::ListRequest),
    /// Show an event and what was done with it
    Show(show::ShowRequest),
    /// Change an event's status and tags
    Mark(mark::MarkRequest),
    /// Store an event and start the hooks whose trigger is `custom:NAME`
    #[command(after_help = "Exit status: 0 something was started or waits already, 1 no hook listens.")]
    Send(send::SendRequest),
}

pub(crate) fn run(
    loaded: &Loaded,
    extensions: Vec<Arc<dyn Extension>>,
    command: &EventCommand,
    printer: &Printer,
) -> Result<Status, Failure> {
    if let EventCommand::Send(request) = command {
        return send::run(loaded, extensions, request, printer);
    }
    if let EventCommand::Post(request) = command
        && request.waits()
    {
        // Whoever waits for the answer routes the event and runs the turn here, unless another process is faster.
        let running = Running::start(loaded, extensions, Threads::Two)?;
        let posted = running.service(&EVENT_LEDGER).and_then(|ledger| {
            let outbox = running.service(&OUTBOX)?;
            running.block_on(post::run(ledger.as_ref(), Some(outbox.as_ref()), request, printer))
        });
        running.shutdown();
        return posted;
    }
    with_ledger(loaded, extensions, async |ledger| match command {
        EventCommand::Post(request) => post::run(ledger, None, request, printer).await,
        EventCommand::List(request) => list::run(ledger, request, printer).await,
        EventCommand::Show(request) => show::run(ledger, request, printer).await,
        EventCommand::Mark(request) => mark::run(ledger, request, printer).await,
        EventCommand::Send(_) => Ok(Status::Done),
    })
}

/// Does something with the ledger, beside whatever other processes do.
pub(super) fn with_ledger(
    loaded: &Loaded,
    extensions: Vec<Arc<dyn Extension>>,
    work: impl AsyncFnOnce(&dyn EventLedger) -> Result<Status, Failure>,
) -> Result<Status, Failure> {
    let running = Running::look_at_events(loaded, extensions)?;
    let outcome = running.service(&EVENT_LEDGER).and_then(|ledger| running.block_on(work(ledger.as_ref())));
    running.shutdown();
    outcome
}

impl From<LedgerError> for Failure {
    fn from(error: LedgerError) -> Self {
        let failure = match &error {
            LedgerError::Invalid { .. } | LedgerError::NoEvent { .. } => Self::usage(error.to_string()),
            LedgerError::Storage(_) | LedgerError::Closed | LedgerError::Fenced => Self::internal(error.to_string()),
        };
        match error.hint() {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}
