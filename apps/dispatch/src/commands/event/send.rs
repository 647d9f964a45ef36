//! `dispatch event send`: stores an event of one's own, then starts the workspace's hooks that listen to it.

use crate::app::Status;
use crate::failure::Failure;
use crate::printer::{Format, Printer, table};
use crate::running::Running;
use crate::settings::Loaded;
use dispatch_contracts::extension::Extension;
use dispatch_os::environment;
use dispatch_os::files::{read_stream_at_most, read_text_at_most};
use ext_workspace_hooks::contract::{
    CustomEvent, Event, Outcome, RUNS, Receipt, SendError, SentEvent, Workers, workspace_of,
};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;

/// More is refused by whoever takes it in.
const MAX_DATA_BYTES: u64 = 1024 * 1024;

#[derive(Debug, clap::Args)]
pub(crate) struct SendRequest {
    /// The name behind `custom:`
    name: String,
    /// Facts for the run: JSON, or @FILE with JSON, or - for standard input
    #[arg(long, value_name = "JSON")]
    data: Option<String>,
    /// A file of the workspace that it is about; can be given several times
    #[arg(long = "file", value_name = "FILE")]
    files: Vec<String>,
    /// Your own name for it; the same one again starts nothing
    #[arg(long, value_name = "ID")]
    id: Option<String>,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

pub(super) fn run(
    loaded: &Loaded,
    extensions: Vec<Arc<dyn Extension>>,
    request: &SendRequest,
    printer: &Printer,
) -> Result<Status, Failure> {
    let workspace = workspace_of(&loaded.start);
    let sent = CustomEvent {
        name: request.name.clone(),
        data: request.data.as_deref().map(read_data).transpose()?.unwrap_or_default(),
        files: request.files.clone(),
        id: request.id.clone(),
    };
    let SentEvent { event, receipts, .. } = deliver(loaded, extensions, &workspace, sent)?;
    match Format::from(request.json) {
        Format::Json => printer.json(&json!({ "event": event, "workspace": workspace, "receipts": receipts }))?,
        Format::Text => printer.out(&told(&receipts, &request.name)),
    }
    Ok(if receipts.is_empty() { Status::No } else { Status::Done })
}

/// Stores an event in the ledger, from which the hooks get it that listen to it.
fn deliver(
    loaded: &Loaded,
    extensions: Vec<Arc<dyn Extension>>,
    workspace: &Path,
    sent: CustomEvent,
) -> Result<SentEvent, Failure> {
    let running = Running::look_at_runs_and_events(loaded, extensions)?;
    let delivered = running.service(&RUNS).and_then(|runs| {
        let from = environment::user_name();
        running.block_on(async { runs.send(sent, workspace, &loaded.start, &from).await.map_err(Failure::from) })
    });
    running.shutdown();
    let delivered = delivered?;
    if delivered.is_busy {
        Workers::new(&loaded.dirs.state).ensure(workspace, &environment::current_program()?)?;
    }
    Ok(delivered)
}

/// Stores an event and starts a worker for what it started, unless there is one.
pub(in crate::commands) fn store(
    loaded: &Loaded,
    extensions: Vec<Arc<dyn Extension>>,
    event: Event,
) -> Result<Vec<Receipt>, Failure> {
    let workspace = event.workspace.clone();
    let running = Running::look_at_runs(loaded, extensions)?;
    let stored = running
        .service(&RUNS)
        .and_then(|runs| running.block_on(async { runs.submit(event).await.map_err(Failure::from) }));
    running.shutdown();
    let receipts = stored?;
    ensure_worker(loaded, &workspace, &receipts)?;
    Ok(receipts)
}

fn ensure_worker(loaded: &Loaded, workspace: &Path, receipts: &[Receipt]) -> Result<(), Failure> {
    if receipts.iter().any(|receipt| receipt.run.is_some()) {
        Workers::new(&loaded.dirs.state).ensure(workspace, &environment::current_program()?)?;
    }
    Ok(())
}

fn read_data(said: &str) -> Result<Value, Failure> {
    let text = match said.strip_prefix('@') {
        Some(file) => read_text_at_most(Path::new(file), MAX_DATA_BYTES)?,
        None if said == "-" => {
            let bytes = read_stream_at_most(std::io::stdin(), "standard input", MAX_DATA_BYTES)?;
            String::from_utf8(bytes).map_err(|_| Failure::usage("the data is not valid UTF-8").hint("send JSON"))?
        }
        None => said.to_owned(),
    };
    serde_json::from_str(&text).map_err(|error| {
        Failure::usage(format!("invalid JSON data: {error}")).hint("quote it for the shell: --data '{\"a\": 1}'")
    })
}

fn told(receipts: &[Receipt], name: &str) -> String {
    if receipts.is_empty() {
        return format!("no hook listens to custom:{name}");
    }
    let row = |receipt: &Receipt| {
        let run = receipt.run.as_ref().map(ToString::to_string).unwrap_or_default();
        vec![receipt.hook_id.clone(), word(receipt.outcome), run]
    };
    table(&receipts.iter().map(row).collect::<Vec<_>>())
}

impl From<SendError> for Failure {
    fn from(error: SendError) -> Self {
        match error {
            SendError::Invalid(error) => Self::usage(error.to_string()),
            SendError::Ledger(error) => error.into(),
            SendError::Runs(error) => error.into(),
        }
    }
}

/// The word that scripts know an outcome by.
fn word(outcome: Outcome) -> String {
    json!(outcome).as_str().unwrap_or_default().to_owned()
}
