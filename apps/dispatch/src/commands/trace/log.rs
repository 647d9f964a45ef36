//! `dispatch trace log`: the entries of the ledger as a timeline.

use super::TraceWorkspace;
use crate::app::Status;
use crate::commands::intent::sid_of;
use crate::failure::Failure;
use crate::paint::{Paint, Tone};
use crate::plain::one_line;
use crate::printer::{Format, Printer};
use crate::time_span::TimeSpan;
use dispatch_os::time;
use ext_intents::contract::{Concurrency, EntryFilter, MatchedLine, ScopeValidation, TraceEntry};
use std::collections::VecDeque;
use std::path::PathBuf;
use std::str::FromStr;

/// What is shown as text unless more is asked for.
const DEFAULT_LIMIT: usize = 200;
const PATH_CHARS: usize = 200;
const NOTE_CHARS: usize = 160;

#[derive(Debug, clap::Args)]
pub(crate) struct LogRequest {
    /// Only entries of this intent
    #[arg(long, value_name = "ID")]
    intent: Option<String>,
    /// Only entries about this file
    #[arg(long, value_name = "PATH")]
    file: Option<PathBuf>,
    /// Only entries of this session, by its id, the start of it, or the id that its host uses
    #[arg(long, value_name = "SID")]
    session: Option<String>,
    /// Only entries since then: 30m, 12h, 7d, or a date such as 2026-03-01 (UTC)
    #[arg(long, value_name = "TIME")]
    since: Option<Since>,
    /// Only the newest N entries; 0 for all [default: 200, with --json all]
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Print the entries as they are stored, one JSON object per line
    #[arg(long)]
    json: bool,
}

/// A moment on the command line.
#[derive(Debug, Clone, Copy)]
enum Since {
    Ago(TimeSpan),
    At(i64),
}

impl FromStr for Since {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let date = time::parse_rfc3339(text).or_else(|| time::parse_rfc3339(&format!("{text}T00:00:00Z")));
        match (date, text.parse::<TimeSpan>()) {
            (Some(at), _) => Ok(Self::At(at)),
            (None, Ok(span)) => Ok(Self::Ago(span)),
            (None, Err(_)) => Err(format!("invalid time `{text}`; write for example 12h, 7d or 2026-03-01")),
        }
    }
}

impl LogRequest {
    fn filter(&self, workspace: &TraceWorkspace) -> Result<EntryFilter, Failure> {
        let since_ms = self.since.map(|since| match since {
            Since::Ago(span) => time::unix_ms() - span.ms(),
            Since::At(at) => at,
        });
        Ok(EntryFilter {
            intent: self.intent.clone(),
            path: self.file.as_deref().map(|path| workspace.relative(path)).transpose()?,
            session: self.session.clone().into_iter().flat_map(|named| [sid_of(&named), named]).collect(),
            since_ms,
        })
    }
}

pub(super) fn run(workspace: &TraceWorkspace, request: &LogRequest, printer: &Printer) -> Result<Status, Failure> {
    let format = Format::from(request.json);
    let filter = request.filter(workspace)?;
    let default = if format == Format::Json { 0 } else { DEFAULT_LIMIT };
    let limit = Some(request.limit.unwrap_or(default)).filter(|limit| *limit > 0);
    let mut entries = EntryPrinter { printer, format, paint: Paint::for_stdout(), day: String::new() };
    let mut newest: VecDeque<Vec<u8>> = VecDeque::new();
    let (mut found, mut unreadable) = (0_usize, 0_u64);
    for line in workspace.intents.log(filter)? {
        let bytes = match line? {
            MatchedLine::Entry(bytes) => bytes,
            MatchedLine::Malformed(bytes) => {
                unreadable += 1;
                bytes
            }
        };
        found += 1;
        match limit {
            // Only the text of as many as will be shown is held.
            Some(limit) => {
                newest.extend([bytes]);
                newest.drain(..newest.len().saturating_sub(limit));
            }
            None if entries.print(&bytes).is_err() => return Ok(Status::Done),
            None => {}
        }
    }
    if found > newest.len() && limit.is_some() && format == Format::Text {
        printer.warn(&format!("showing only the newest {} entries; --limit 0 shows all", newest.len()));
    }
    for line in &newest {
        if entries.print(line).is_err() {
            return Ok(Status::Done);
        }
    }
    if found == 0 && format == Format::Text {
        printer.out("no entries");
    }
    if unreadable > 0 {
        printer.warn(&format!("{unreadable} lines are not entries; `dispatch trace verify` shows them"));
    }
    Ok(Status::Done)
}

/// Prints entries one by one.
struct EntryPrinter<'a> {
    printer: &'a Printer,
    format: Format,
    paint: Paint,
    day: String,
}

impl EntryPrinter<'_> {
    /// `Err` when the reader is gone. A line that is not an entry is skipped.
    fn print(&mut self, line: &[u8]) -> std::io::Result<()> {
        let Ok(entry) = serde_json::from_slice::<TraceEntry>(line) else {
            return Ok(());
        };
        if self.format == Format::Json {
            return self.printer.stream(line);
        }
        let day = entry.timestamp.get(..10).unwrap_or_default();
        if day != self.day {
            self.day = day.to_owned();
            let heading = self.paint.text(Tone::Faint, &format!("{} (times in UTC)", one_line(day, 10)));
            self.printer.stream(heading.as_bytes())?;
        }
        self.printer.stream(self.row(&entry).as_bytes())
    }

    fn row(&self, entry: &TraceEntry) -> String {
        let paint = &self.paint;
        let time = entry.timestamp.get(11..19).unwrap_or("--:--:--");
        let intent = if entry.intent_id.is_empty() { "(no intent)" } else { &entry.intent_id };
        let (sign, tone) = match entry.scope_validation {
            _ if entry.reverted => ("reverted", Tone::Bad),
            ScopeValidation::Fail => ("FAIL", Tone::Bad),
            ScopeValidation::Pass => ("pass", Tone::Good),
            ScopeValidation::Exempt => ("exempt", Tone::Faint),
        };
        let mut row = format!(
            "{}  {}  {}  {:<8}  {}",
            paint.text(Tone::Faint, &one_line(time, 8)),
            paint.text(Tone::Name, &format!("{:<10}", one_line(intent, 40))),
            paint.text(tone, &format!("{sign:<8}")),
            one_line(&entry.session_id, 8),
            one_line(&format!("{} {}", class(entry), subject(entry)), PATH_CHARS),
        );
        row.push_str(&format!("  {}", paint.text(Tone::Faint, &one_line(&entry.tool_name, 40))));
        let conflicts: Vec<String> = entry.concurrent.iter().map(conflict).collect();
        if !conflicts.is_empty() {
            row.push_str(&format!("\n          {}", paint.text(Tone::Bad, &conflicts.join("; "))));
        }
        for extra in [&entry.error, &entry.note].into_iter().flatten() {
            row.push_str(&format!("\n          {}", paint.text(Tone::Bad, &one_line(extra, NOTE_CHARS))));
        }
        row
    }
}

/// Why a change may conflict with another one, for people.
fn conflict(kind: &Concurrency) -> String {
    let said = match kind {
        Concurrency::Overlap => "overlap: another session's call on this file ran at the same time",
        Concurrency::Drift => "drift: the file had changed since its last entry",
        Concurrency::Content => "content: the file differs from what the call wrote",
        Concurrency::DiscardedEdit => "discarded edit: the call discarded changes that nobody had recorded",
    };
    said.to_owned()
}

fn class(entry: &TraceEntry) -> String {
    let name = serde_json::to_value(entry.mutation_class).unwrap_or_default();
    name.as_str().unwrap_or_default().to_lowercase().replace('_', " ")
}

fn subject(entry: &TraceEntry) -> String {
    entry.path().map_or_else(|| "(changes not determined)".to_owned(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_a_span_a_date_or_a_time() {
        assert!(matches!("7d".parse(), Ok(Since::Ago(_))));
        assert!(matches!("2026-03-01".parse(), Ok(Since::At(1_772_323_200_000))));
        assert!(matches!("2026-03-01T01:00:00+01:00".parse(), Ok(Since::At(1_772_323_200_000))));
        for wrong in ["", "yesterday", "2026-13-01", "7"] {
            assert!(wrong.parse::<Since>().is_err(), "{wrong}");
        }
    }
}
