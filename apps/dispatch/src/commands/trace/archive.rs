//! `dispatch trace archive`: moves the entries of ended sessions out of the ledger.

use super::TraceWorkspace;
use crate::app::Status;
use crate::failure::Failure;
use crate::printer::{Format, Printer};
use crate::settings::Loaded;
use crate::time_span::TimeSpan;
use crate::workspace::Workspace;
use dispatch_hook_module::Record;
use dispatch_os::{files, time};
use serde_json::json;

/// A session without an end that was silent for so long has ended.
const SILENT_MS: i64 = 24 * 60 * 60 * 1000;
const LAST_LINES: usize = 8;
const LAST_BYTES: u64 = 64 * 1024;

pub(super) const HELP: &str = "\
A session has ended when its host said so, when it left no log on this machine, or when it was silent for a day.
Its entries are moved to .orchestration/archive/agent_trace-*.jsonl. `verify`, `blame`, `check`, `log`, `export` and
`report` read the archives too. Commit them with the ledger; git merges them by union. An interrupted archive loses
nothing: lines are written to the archive before they leave the ledger.";

#[derive(Debug, clap::Args)]
pub(crate) struct ArchiveRequest {
    /// Only sessions whose last entry is at least this old: 12h, 30d
    #[arg(long, value_name = "TIME")]
    older_than: Option<TimeSpan>,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

pub(super) fn run(
    loaded: &Loaded,
    workspace: &TraceWorkspace,
    request: &ArchiveRequest,
    printer: &Printer,
) -> Result<Status, Failure> {
    let logs = Workspace::at(loaded, workspace.intents.root());
    let now_ms = time::unix_ms();
    let is_ended = |session: &str, last_entry: &str| {
        let age_ms = time::parse_rfc3339(last_entry).map_or(i64::MAX, |at| now_ms - at);
        let is_old = request.older_than.is_none_or(|span| age_ms >= span.ms());
        is_old && has_ended(&logs, session, now_ms)
    };
    let done = workspace.intents.archive(&is_ended)?;
    match Format::from(request.json) {
        Format::Json => printer.json(&json!({
            "file": done.file, "sessions": done.sessions, "entries": done.lines, "left": done.left,
        }))?,
        Format::Text => printer.out(&match &done.file {
            None => format!("nothing to archive: {} entries are of sessions that have not ended", done.left),
            Some(file) => format!(
                "moved {} entries of {} sessions to {}; {} stay",
                done.lines,
                done.sessions,
                file.display(),
                done.left
            ),
        }),
    }
    Ok(Status::Done)
}

fn has_ended(logs: &Workspace, session: &str, now_ms: i64) -> bool {
    let sessions = logs.sessions();
    let Some(log) = sessions.iter().find(|log| log.id == session) else {
        return true;
    };
    let lines = files::tail_lines(&log.events_file, LAST_LINES, LAST_BYTES).unwrap_or_default();
    let said_so = lines.iter().filter_map(|line| Record::parse(line)).any(|record| {
        let text = record.data.to_string();
        text.contains("SessionEnd") || text.contains("session.deleted")
    });
    said_so || now_ms - log.modified_ms >= SILENT_MS
}
