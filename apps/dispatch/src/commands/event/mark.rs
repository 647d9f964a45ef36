//! `dispatch event mark`: the status and the tags of an event.

use super::list::StatusName;
use crate::app::Status;
use crate::failure::Failure;
use crate::printer::{Format, Printer};
use ext_event_ledger::contract::EventLedger;
use serde_json::json;

#[derive(Debug, clap::Args)]
pub(crate) struct MarkRequest {
    /// The event's id, as `event list` prints it
    id: String,
    /// The status
    #[arg(long, value_enum)]
    status: Option<StatusName>,
    /// Add a tag; can be given several times
    #[arg(long = "tag", value_name = "TAG")]
    tags: Vec<String>,
    /// Take a tag away; can be given several times
    #[arg(long = "untag", value_name = "TAG")]
    untags: Vec<String>,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(ledger: &dyn EventLedger, request: &MarkRequest, printer: &Printer) -> Result<Status, Failure> {
    let id = request.id.as_str();
    if let Some(status) = request.status {
        ledger.set_status(id, status.into()).await?;
    }
    for tag in &request.tags {
        ledger.tag(id, tag).await?;
    }
    for tag in &request.untags {
        ledger.untag(id, tag).await?;
    }
    let (status, tags) = (ledger.status(id).await?, ledger.tags(id).await?);
    match Format::from(request.json) {
        Format::Json => printer.json(&json!({ "event": id, "status": status, "tags": tags }))?,
        Format::Text if tags.is_empty() => printer.out(&format!("{id} is {}", status.word())),
        Format::Text => printer.out(&format!("{id} is {}, tagged {}", status.word(), tags.join(", "))),
    }
    Ok(Status::Done)
}
