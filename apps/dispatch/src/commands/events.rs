//! `dispatch events`: what happened in the sessions of a workspace, in the order it happened.

mod follow;
mod row;
mod timeline;

use crate::app::Status;
use crate::failure::Failure;
use crate::printer::{Format, Printer};
use crate::settings::Loaded;
use crate::time_span::TimeSpan;
use crate::workspace::{SessionLog, Workspace};
use dispatch_hook_module::{Decision, Record, RecordType};
use dispatch_os::time;
use std::path::Path;

pub(crate) use row::subject;

/// What is shown as text unless more is asked for.
const DEFAULT_LIMIT: usize = 200;
/// What `--follow` shows of the past unless more is asked for.
const FOLLOW_LIMIT: usize = 20;

#[derive(Debug, clap::Args)]
pub(crate) struct EventsRequest {
    /// Keep printing new events until interrupted
    #[arg(long, short)]
    follow: bool,
    /// Only this session, by id or a prefix of it
    #[arg(long, value_name = "SID")]
    session: Option<String>,
    /// Only events newer than this, for example 30m, 12h or 7d
    #[arg(long, value_name = "TIME")]
    since: Option<TimeSpan>,
    /// Only events that were decided so: allow, ask or deny
    #[arg(long, value_name = "DECISION", value_parser = decision)]
    decision: Option<Decision>,
    /// Only calls of this tool, as its host names it, for example Bash
    #[arg(long, value_name = "TOOL")]
    tool: Option<String>,
    /// Only the newest N, or 0 for all [default: 200; with --json: all]
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Print every record as it is stored, one JSON object per line
    #[arg(long)]
    json: bool,
}

impl EventsRequest {
    fn limit(&self) -> Option<usize> {
        let default = match (self.follow, Format::from(self.json)) {
            (true, _) => FOLLOW_LIMIT,
            (false, Format::Text) => DEFAULT_LIMIT,
            (false, Format::Json) => 0,
        };
        Some(self.limit.unwrap_or(default)).filter(|limit| *limit > 0)
    }
}

/// What is wanted of each record.
struct EventFilter {
    format: Format,
    /// RFC 3339; times of records compare as text.
    since: Option<String>,
    decision: Option<Decision>,
    tool: Option<String>,
}

impl EventFilter {
    /// The record in this line if it is wanted; `None` for a line that is not a record.
    fn read(&self, line: &[u8]) -> Option<FilteredRecord> {
        let record = Record::parse(line)?;
        let recent = self.since.as_ref().is_none_or(|since| record.ts >= *since);
        let shown = (self.format == Format::Json || row::is_shown(&record.kind)) && self.is_asked_for(&record);
        Some(if recent && shown { FilteredRecord::Yes(Box::new(record)) } else { FilteredRecord::No { recent } })
    }
}

impl EventFilter {
    /// Whether it was decided as asked for, about the tool that is asked for.
    fn is_asked_for(&self, record: &Record) -> bool {
        let tool = || record.data.get("tool").and_then(serde_json::Value::as_str).unwrap_or_default();
        let is_run = record.kind == RecordType::HookRun;
        self.decision.is_none_or(|wanted| is_run && record.decision == Some(wanted))
            && self.tool.as_ref().is_none_or(|wanted| tool().eq_ignore_ascii_case(wanted))
    }
}

fn decision(word: &str) -> Result<Decision, String> {
    let all = [Decision::Allow, Decision::Ask, Decision::Deny];
    all.into_iter().find(|one| one.as_str() == word).ok_or_else(|| "expected allow, ask or deny".to_owned())
}

enum FilteredRecord {
    Yes(Box<Record>),
    No { recent: bool },
}

/// One record to print, with its line as it is stored.
struct TimelineEntry {
    line: Vec<u8>,
    record: Box<Record>,
}

/// Prints entries one by one.
struct EventPrinter<'a> {
    printer: &'a Printer,
    format: Format,
    root: &'a Path,
    day: String,
}

impl EventPrinter<'_> {
    /// `Err` when the reader has gone away.
    fn print(&mut self, entry: &TimelineEntry) -> std::io::Result<()> {
        if self.format == Format::Json {
            return self.printer.stream(&entry.line);
        }
        let day = entry.record.ts.get(..10).unwrap_or_default();
        if day != self.day {
            self.day = day.to_owned();
            self.printer.stream(format!("{day} (times in UTC)").as_bytes())?;
        }
        self.printer.stream(row::row(&entry.record, self.root).as_bytes())
    }
}

pub(crate) fn run(loaded: &Loaded, request: &EventsRequest, printer: &Printer) -> Result<Status, Failure> {
    let workspace = Workspace::of(loaded);
    let format = Format::from(request.json);
    let since_ms = request.since.map(|since| time::unix_ms() - since.ms());
    let filter = EventFilter {
        format,
        since: since_ms.map(time::rfc3339),
        decision: request.decision,
        tool: request.tool.clone(),
    };
    let mut sessions = workspace.chosen(request.session.as_deref())?;
    let mut sink = EventPrinter { printer, format, root: &workspace.root, day: String::new() };
    if request.follow {
        return follow::follow(&workspace, request, &filter, &mut sink);
    }
    sessions.retain(|session| since_ms.is_none_or(|since_ms| session.modified_ms >= since_ms));
    let unreadable = match request.limit() {
        Some(limit) => print_newest(&sessions, limit, &filter, &mut sink)?,
        None => timeline::merge(&sessions, &filter, &mut |entry| sink.print(&entry))?,
    };
    if sessions.is_empty() && format == Format::Text {
        printer.out("no events yet");
    }
    if unreadable > 0 {
        printer.warn(&format!("skipped {unreadable} lines that are not records"));
    }
    Ok(Status::Done)
}

fn print_newest(
    sessions: &[SessionLog],
    limit: usize,
    filter: &EventFilter,
    sink: &mut EventPrinter<'_>,
) -> Result<u64, Failure> {
    let newest = timeline::newest(sessions, limit, filter)?;
    if newest.more && sink.format == Format::Text {
        sink.printer.warn(&format!("showing the newest {limit}; --limit 0 shows all"));
    }
    for entry in &newest.entries {
        if sink.print(entry).is_err() {
            break;
        }
    }
    Ok(newest.unreadable)
}
