//! `dispatch trace export`: the ledger in forms that other programs read.

use super::Place;
use super::output::Destination;
use crate::app::Status;
use crate::failure::Failure;
use crate::printer::Printer;
use dispatch_os::time;
use ext_intents::query::export::{Snapshot, agent_trace, header, row};
use ext_intents::query::history::Change;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub(crate) struct ExportRequest {
    /// The form
    #[arg(long, value_enum)]
    format: Form,
    /// Write to this file instead of standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Form {
    /// Agent Trace 0.1: who wrote which lines as they are now, one record per line
    AgentTrace,
    /// Every entry as it is stored
    Jsonl,
    /// Every entry as a row for a spreadsheet
    Csv,
}

pub(super) fn run(place: &Place, request: &ExportRequest, printer: &Printer) -> Result<Status, Failure> {
    let mut output = Destination::open(request.output.as_deref())?;
    match request.format {
        Form::AgentTrace => records(place, &mut output)?,
        Form::Jsonl | Form::Csv => entries(place, request.format, &mut output)?,
    }
    if let Some(path) = output.finish()? {
        printer.note(&format!("written: {}", path.display()));
    }
    Ok(Status::Done)
}

fn entries(place: &Place, form: Form, output: &mut Destination) -> Result<(), Failure> {
    if form == Form::Csv {
        output.write(header().as_bytes())?;
    }
    for line in place.ledger().lines().map_err(|error| place.unreadable(error))? {
        let line = line.map_err(|error| place.unreadable(error))?;
        let Ok(entry) = line.entry() else { continue };
        match form {
            Form::Csv => output.write(row(&entry).as_bytes())?,
            Form::Jsonl | Form::AgentTrace => {
                output.write(&line.bytes)?;
                output.write(b"\n")?;
            }
        }
    }
    Ok(())
}

fn records(place: &Place, output: &mut Destination) -> Result<(), Failure> {
    let git = place.git();
    let snapshot = Snapshot {
        revision: git.as_ref().and_then(|git| git.head()),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        now: time::now_rfc3339(),
    };
    let former = |path: &str, known: &[Change]| place.former_names(path, known);
    let found = agent_trace(&place.layout, &former, &snapshot).map_err(|error| place.unreadable(error))?;
    for record in found {
        output.write(format!("{record}\n").as_bytes())?;
    }
    Ok(())
}
