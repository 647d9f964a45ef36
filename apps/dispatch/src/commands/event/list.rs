//! `dispatch event list`: the events of the ledger, and new ones as they come.

use crate::app::Status;
use crate::commands::queue::moment;
use crate::failure::Failure;
use crate::plain::one_line;
use crate::printer::{Format, Printer, table};
use crate::stopping::asked_to_stop;
use crate::time_span::TimeSpan;
use dispatch_os::time::unix_ms;
use ext_event_ledger::contract::{Event, EventFilter, EventLedger, EventStatus};
use futures_util::StreamExt as _;
use serde_json::json;
use std::time::Duration;

/// What is shown of a content.
const TEXT_CHARS: usize = 80;
/// How often events of other processes are looked for.
const LOOK: Duration = Duration::from_millis(250);
/// The most events that are read at once while new ones are followed.
const PAGE: u32 = 200;

#[derive(Debug, clap::Args)]
pub(crate) struct ListRequest {
    /// Go on with new events until ctrl-C
    #[arg(long, conflicts_with_all = ["search"])]
    follow: bool,
    /// Only events of this channel
    #[arg(long, value_name = "CHANNEL")]
    channel: Option<String>,
    /// Only events from this sender
    #[arg(long, value_name = "ID")]
    from: Option<String>,
    /// Only events with this tag
    #[arg(long, value_name = "TAG")]
    tag: Option<String>,
    /// Only events with this status
    #[arg(long, value_enum)]
    status: Option<StatusName>,
    /// Only events that came within this time, such as `2h` or `7d`
    #[arg(long, value_name = "TIME")]
    since: Option<TimeSpan>,
    /// Only events whose content has words that begin so
    #[arg(long, value_name = "WORDS", conflicts_with_all = ["channel", "from", "tag", "status", "since"])]
    search: Option<String>,
    /// At most so many, the newest
    #[arg(long, value_name = "NUMBER", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: u32,
    /// Print one JSON object instead of text; with --follow, one for each event
    #[arg(long)]
    json: bool,
}

/// How far a person is with an event.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(super) enum StatusName {
    /// Nobody has looked at it
    Unread,
    /// It was answered, or needs nothing
    Handled,
    /// Put away
    Archived,
}

impl From<StatusName> for EventStatus {
    fn from(name: StatusName) -> Self {
        match name {
            StatusName::Unread => Self::Unread,
            StatusName::Handled => Self::Handled,
            StatusName::Archived => Self::Archived,
        }
    }
}

pub(super) async fn run(ledger: &dyn EventLedger, request: &ListRequest, printer: &Printer) -> Result<Status, Failure> {
    let format = Format::from(request.json);
    // What comes while the list is read is behind this number, or in the list.
    let mut last = ledger.last_sequence().await?;
    let mut found = match &request.search {
        Some(words) => ledger.search(words, request.limit).await?,
        None => ledger.newest(filter(request), request.limit).await?,
    };
    found.reverse();
    if request.follow {
        last = found.last().map_or(last, |event| event.sequence.max(last));
        for event in &found {
            print(event, format, printer)?;
        }
        return follow(ledger, request, last, printer).await;
    }
    match format {
        Format::Json => printer.json(&json!({ "events": found }))?,
        Format::Text if found.is_empty() => printer.out("no events"),
        Format::Text => printer.out(&table(&found.iter().map(row).collect::<Vec<_>>())),
    }
    Ok(Status::Done)
}

fn filter(request: &ListRequest) -> EventFilter {
    EventFilter {
        channel: request.channel.clone(),
        from: request.from.clone(),
        tag: request.tag.clone(),
        status: request.status.map(Into::into),
        since_ms: request.since.map(|since| u64::try_from(unix_ms().saturating_sub(since.ms())).unwrap_or_default()),
    }
}

async fn follow(
    ledger: &dyn EventLedger,
    request: &ListRequest,
    mut last: u64,
    printer: &Printer,
) -> Result<Status, Failure> {
    let mut appended = ledger.listen();
    loop {
        let found = ledger.after(last, PAGE).await?;
        for event in &found {
            last = event.sequence;
            let is_wanted = request.channel.as_ref().is_none_or(|channel| *channel == event.channel)
                && request.from.as_ref().is_none_or(|from| *from == event.from);
            if is_wanted && print(event, Format::from(request.json), printer).is_err() {
                return Ok(Status::Done);
            }
        }
        if !found.is_empty() {
            continue;
        }
        tokio::select! {
            _ = appended.next() => {}
            () = tokio::time::sleep(LOOK) => {}
            () = asked_to_stop() => return Ok(Status::Done),
        }
    }
}

/// Prints one event as a line; fails when nobody reads any more.
fn print(event: &Event, format: Format, printer: &Printer) -> Result<(), Failure> {
    let line = match format {
        Format::Json => serde_json::to_string(event).map_err(|error| Failure::internal(error.to_string()))?,
        Format::Text => row(event).join("  "),
    };
    printer.stream(line.as_bytes()).map_err(|error| Failure::of(Status::Internal, &error))
}

fn row(event: &Event) -> Vec<String> {
    vec![
        moment(event.received_at),
        one_line(&event.id, TEXT_CHARS),
        one_line(&event.from, TEXT_CHARS),
        one_line(&event.content, TEXT_CHARS),
    ]
}
