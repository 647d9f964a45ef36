//! `dispatch trace report`: the ledger as one page for people.

use super::output::Destination;
use super::{Place, verify};
use crate::app::Status;
use crate::failure::Failure;
use crate::printer::Printer;
use dispatch_os::time;
use ext_intents::declared::{self, Caching, Declared};
use ext_intents::query::report::{Report, render};
use ext_intents::query::summary::Summary;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub(crate) struct ReportRequest {
    /// Write to this file instead of standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(super) fn run(place: &Place, request: &ReportRequest, printer: &Printer) -> Result<Status, Failure> {
    let lines = place.ledger().lines().map_err(|error| place.unreadable(error))?;
    let summary = Summary::read(lines).map_err(|error| place.unreadable(error))?;
    let intents = match declared::load(&place.layout, Caching::ReadOnly) {
        Declared::Ready(file) => file.active_intents,
        Declared::Absent | Declared::Broken(_) => Vec::new(),
    };
    let (found, _) = verify::find(place)?;
    let problems: Vec<String> = found.problems.iter().map(verify::row).collect();
    let name = place.layout.root.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let made = time::now_rfc3339();
    let made = format!(
        "made {} UTC by dispatch {}",
        made.get(..16).unwrap_or(&made).replace('T', " "),
        env!("CARGO_PKG_VERSION")
    );
    let report = Report { title: &name, made: &made, summary: &summary, intents: &intents, problems: &problems };
    let mut output = Destination::open(request.output.as_deref())?;
    output.write(render(&report).as_bytes())?;
    if let Some(path) = output.finish()? {
        printer.note(&format!("written: {}", path.display()));
    }
    Ok(Status::Done)
}
