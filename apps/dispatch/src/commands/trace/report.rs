//! `dispatch trace report`: the ledger as one HTML page.

use super::output::Destination;
use super::{TraceWorkspace, verify};
use crate::app::Status;
use crate::failure::Failure;
use crate::printer::Printer;
use dispatch_os::time;
use std::io::Write;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub(crate) struct ReportRequest {
    /// Write to this file instead of standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(super) fn run(workspace: &TraceWorkspace, request: &ReportRequest, printer: &Printer) -> Result<Status, Failure> {
    let problems: Vec<String> = workspace.intents.verify()?.problems.iter().map(verify::row).collect();
    let now = time::now_rfc3339();
    let made = format!(
        "made {} UTC by dispatch {}",
        now.get(..16).unwrap_or(&now).replace('T', " "),
        env!("CARGO_PKG_VERSION")
    );
    let page = workspace.intents.report(&made, &problems)?;
    let mut output = Destination::open(request.output.as_deref())?;
    output.write_all(page.as_bytes()).map_err(|error| output.failure(error))?;
    if let Some(path) = output.finish()? {
        printer.note(&format!("wrote {}", path.display()));
    }
    Ok(Status::Done)
}
