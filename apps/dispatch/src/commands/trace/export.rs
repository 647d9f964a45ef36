//! `dispatch trace export`: the ledger in forms that other programs read.

use super::TraceWorkspace;
use super::output::Destination;
use crate::app::Status;
use crate::failure::Failure;
use crate::printer::Printer;
use dispatch_os::time;
use ext_intents::contract::{ExportFormat, IntentsError};
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub(crate) struct ExportRequest {
    /// The format
    #[arg(long, value_enum, required_unless_present = "agent_trace")]
    format: Option<FormatName>,
    /// The same as --format agent-trace
    #[arg(long, conflicts_with = "format")]
    agent_trace: bool,
    /// Write to this file instead of standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum FormatName {
    /// Agent Trace 0.1.0: the writer of each line as the files are now, one JSON record per line
    AgentTrace,
    /// Every entry as it is stored
    Jsonl,
    /// Every entry as a row for a spreadsheet
    Csv,
}

impl From<FormatName> for ExportFormat {
    fn from(name: FormatName) -> Self {
        match name {
            FormatName::AgentTrace => Self::AgentTrace,
            FormatName::Jsonl => Self::Jsonl,
            FormatName::Csv => Self::Csv,
        }
    }
}

pub(super) fn run(workspace: &TraceWorkspace, request: &ExportRequest, printer: &Printer) -> Result<Status, Failure> {
    let mut output = Destination::open(request.output.as_deref())?;
    let now = time::now_rfc3339();
    let format = request.format.unwrap_or(FormatName::AgentTrace);
    let exported = workspace.intents.export(format.into(), env!("CARGO_PKG_VERSION"), &now, &mut output);
    exported.map_err(|error| match error {
        IntentsError::Output(error) => output.failure(error),
        other => other.into(),
    })?;
    if let Some(path) = output.finish()? {
        printer.note(&format!("wrote {}", path.display()));
    }
    Ok(Status::Done)
}
