//! `dispatch trace report`: the ledger as one HTML page, or the intents of a change as Markdown.

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
    /// The form: an HTML page, or Markdown with one row per intent
    #[arg(long, value_enum, default_value = "html")]
    format: ReportFormat,
    /// With markdown: only entries that are not in this branch or commit
    #[arg(long, value_name = "REF")]
    base: Option<String>,
    /// Write to this file instead of standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum ReportFormat {
    /// One page without scripts
    Html,
    /// A table for a pull request
    Markdown,
}

pub(super) fn run(workspace: &TraceWorkspace, request: &ReportRequest, printer: &Printer) -> Result<Status, Failure> {
    if request.base.is_some() && request.format == ReportFormat::Html {
        return Err(Failure::usage("--base needs --format markdown").hint("the HTML page is about the whole ledger"));
    }
    let problems: Vec<String> = workspace.intents.verify()?.problems.iter().map(verify::row).collect();
    let now = time::now_rfc3339();
    let made = format!(
        "made {} UTC by dispatch {}",
        now.get(..16).unwrap_or(&now).replace('T', " "),
        env!("CARGO_PKG_VERSION")
    );
    let page = match request.format {
        ReportFormat::Html => workspace.intents.report(&made, &problems)?,
        ReportFormat::Markdown => workspace.intents.summary(request.base.as_deref(), &problems)?,
    };
    let mut output = Destination::open(request.output.as_deref())?;
    output.write_all(page.as_bytes()).map_err(|error| output.failure(error))?;
    if let Some(path) = output.finish()? {
        printer.note(&format!("wrote {}", path.display()));
    }
    Ok(Status::Done)
}
