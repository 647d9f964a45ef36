//! `dispatch event show`: an event and its receipt, in the order in which things happened.

use crate::app::Status;
use crate::commands::queue::moment;
use crate::failure::Failure;
use crate::plain::{lines, one_line};
use crate::printer::{Format, Printer, table};
use ext_event_ledger::contract::{DispatchLine, Event, EventLedger, EventReceipt, EventStatus, LedgerError};
use serde_json::json;

/// What is shown of a name.
const NAME_CHARS: usize = 200;
/// What is shown of one step, with its reason.
const STEP_CHARS: usize = 400;
/// How many lines of the content are shown.
const CONTENT_LINES: usize = 40;

#[derive(Debug, clap::Args)]
pub(crate) struct ShowRequest {
    /// The event's id, as `event list` prints it
    id: String,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(ledger: &dyn EventLedger, request: &ShowRequest, printer: &Printer) -> Result<Status, Failure> {
    let id = request.id.as_str();
    let event = ledger.get(id).await?.ok_or_else(|| LedgerError::NoEvent { id: id.to_owned() })?;
    let receipt = ledger.receipt(id).await?;
    let (status, tags) = (ledger.status(id).await?, ledger.tags(id).await?);
    match Format::from(request.json) {
        Format::Json => printer.json(&json!({
            "event": event,
            "status": status,
            "tags": tags,
            "hooks": receipt.hooks,
            "dispatches": receipt.dispatches,
            "sends": receipt.sends,
        }))?,
        Format::Text => {
            printer.out(&about(&event, status, &tags));
            printer.out(&happened(&event, &receipt));
        }
    }
    Ok(Status::Done)
}

fn about(event: &Event, status: EventStatus, tags: &[String]) -> String {
    let mut facts = vec![
        vec!["event".to_owned(), one_line(&event.id, NAME_CHARS)],
        vec!["channel".to_owned(), one_line(&format!("{} ({})", event.channel, event.account_id), NAME_CHARS)],
        vec!["from".to_owned(), one_line(&event.from, NAME_CHARS)],
        vec!["peer".to_owned(), one_line(&format!("{} ({})", event.peer_id, event.peer_kind.word()), NAME_CHARS)],
    ];
    facts.extend(event.thread_id.as_ref().map(|thread| vec!["thread".to_owned(), one_line(thread, NAME_CHARS)]));
    facts.push(vec!["sent".to_owned(), moment(event.timestamp)]);
    facts.push(vec!["status".to_owned(), status.word().to_owned()]);
    if !tags.is_empty() {
        facts.push(vec!["tags".to_owned(), one_line(&tags.join(", "), NAME_CHARS)]);
    }
    if let Some(origin) = &event.origin {
        let origin = format!("a reply to {} ({} hops)", origin.event, origin.hops);
        facts.push(vec!["origin".to_owned(), one_line(&origin, NAME_CHARS)]);
    }
    let content: Vec<String> =
        lines(&event.content, CONTENT_LINES).iter().map(|line| format!("    {line}").trim_end().to_owned()).collect();
    format!("{}\n\n{}\n", table(&facts), content.join("\n"))
}

/// What was done, step by step.
fn happened(event: &Event, receipt: &EventReceipt) -> String {
    let time = |at_ms: Option<u64>| at_ms.map(moment).unwrap_or_default();
    let mut steps = vec![vec![moment(event.received_at), "stored".to_owned()]];
    for hook in &receipt.hooks {
        let reason = hook.reason.as_deref().map(|reason| format!(": {reason}")).unwrap_or_default();
        let said = format!("hook {} {} in {} ms{reason}", hook.hook, hook.outcome, hook.ms);
        steps.push(vec![time(hook.at_ms), one_line(&said, STEP_CHARS)]);
    }
    for dispatch in &receipt.dispatches {
        steps.push(vec![time(dispatch.at_ms), one_line(&dispatched(dispatch), STEP_CHARS)]);
    }
    for send in &receipt.sends {
        let reason = send.reason.as_deref().map(|reason| format!(": {reason}")).unwrap_or_default();
        let said = format!("reply {} to {}: {} (attempt {}){reason}", send.id, send.channel, send.state, send.attempt);
        steps.push(vec![time(send.at_ms), one_line(&said, STEP_CHARS)]);
    }
    if receipt.hooks.is_empty() && receipt.dispatches.is_empty() {
        let said = if receipt.is_decided { "no routing hook looked at it" } else { "it is not routed yet" };
        steps.push(vec![String::new(), said.to_owned()]);
    }
    table(&steps)
}

/// Where a dispatch went, with which rights, and what became of it.
fn dispatched(dispatch: &DispatchLine) -> String {
    let DispatchLine { id, hook, session, persona, mode, permissions, state, .. } = dispatch;
    let reason = dispatch.reason.as_deref().filter(|reason| !reason.is_empty());
    let reason = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
    let merged = dispatch.merged_into.as_deref().map(|into| format!(" into {into}")).unwrap_or_default();
    let turn = dispatch.turn.as_deref().map(|turn| format!(" in turn {turn}")).unwrap_or_default();
    format!(
        "dispatch {id} of {hook} to session {session} (persona {persona}, {mode}, {permissions} permissions): \
         {state}{merged}{turn}{reason}"
    )
}
