//! Runs as people read them.

use crate::plain::{lines, one_line};
use crate::printer::table;
use ext_workspace_hooks::contract::{ExecutionRecord, FileChange, Metrics, Status};

/// The longest reason or name of a file on a line.
const TEXT_CHARS: usize = 100;
/// Lines of output that are shown of one run.
const MAX_LINES: usize = 10_000;
/// Files that are named on one line.
const SHOWN_FILES: usize = 3;
/// Every state, for the command line.
const STATES: [Status; 7] = Status::ALL;
const HEADER: [&str; 6] = ["RUN", "HOOK", "STATUS", "BEGAN", "FILES", "REASON"];

/// The state of that name.
pub(super) fn status(word: &str) -> Result<Status, String> {
    STATES.into_iter().find(|state| state.word() == word).ok_or_else(|| {
        let known: Vec<&str> = STATES.iter().map(|state| state.word()).collect();
        format!("a run is {}", known.join(", "))
    })
}

/// Runs as a table.
pub(super) fn listed(records: &[ExecutionRecord]) -> String {
    if records.is_empty() {
        return "no runs".to_owned();
    }
    let row = |record: &ExecutionRecord| {
        vec![
            record.id.to_string(),
            one_line(&record.hook_id, TEXT_CHARS),
            record.status.word().to_owned(),
            record.start_ts.clone(),
            files(&record.files),
            one_line(&record.reason, TEXT_CHARS),
        ]
    };
    let header = HEADER.map(str::to_owned).to_vec();
    table(&std::iter::once(header).chain(records.iter().map(row)).collect::<Vec<_>>())
}

/// How the runs of a workspace are doing.
pub(super) fn metrics(metrics: &Metrics) -> String {
    let rows = [
        ("running", metrics.active_executions),
        ("queued", metrics.queue_length),
        ("succeeded today", metrics.succeeded),
        ("failed today", metrics.failed),
        ("average latency in ms", metrics.average_latency_ms),
    ];
    table(&rows.map(|(name, value)| vec![name.to_owned(), value.to_string()]))
}

/// One change of a run on one line.
pub(super) fn change(record: &ExecutionRecord) -> String {
    let parts = [
        record.end_ts.as_ref().unwrap_or(&record.start_ts).clone(),
        record.id.to_string(),
        one_line(&record.hook_id, TEXT_CHARS),
        record.status.word().to_owned(),
        files(&record.files),
        one_line(&record.reason, TEXT_CHARS),
    ];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("  ")
}

/// Everything about one run, with what it printed.
pub(super) fn whole(record: &ExecutionRecord) -> String {
    let mut rows = vec![
        ("run", record.id.to_string()),
        ("hook", one_line(&record.hook_id, TEXT_CHARS)),
        ("trigger", one_line(&record.trigger, TEXT_CHARS)),
        ("status", record.status.word().to_owned()),
        ("reason", one_line(&record.reason, 3 * TEXT_CHARS)),
        ("began", record.start_ts.clone()),
        ("ended", record.end_ts.clone().unwrap_or_default()),
        ("attempts", record.attempts.to_string()),
        ("exit code", record.exit_code.map(|code| code.to_string()).unwrap_or_default()),
        ("files", files(&record.files)),
        ("wrote", one_line(&record.wrote.join(", "), 3 * TEXT_CHARS)),
        ("tokens", counted(record.usage.tokens)),
        ("cost", dollars(record.usage.micro_usd)),
        ("session", record.session.as_deref().map(|label| one_line(label, TEXT_CHARS)).unwrap_or_default()),
        ("repeats", record.retry_of.as_ref().map(ToString::to_string).unwrap_or_default()),
        ("workspace", one_line(&record.workspace, 3 * TEXT_CHARS)),
    ];
    if record.patch {
        rows.push(("patch", format!("`dispatch runs apply {}` applies it", record.id)));
    }
    rows.retain(|(_, value)| !value.is_empty());
    let rows: Vec<Vec<String>> = rows.into_iter().map(|(name, value)| vec![name.to_owned(), value]).collect();
    let mut text = table(&rows);
    if let Some(logs) = record.logs.as_deref().filter(|logs| !logs.is_empty()) {
        text.push_str("\n\n");
        text.push_str(&lines(logs, MAX_LINES).join("\n"));
    }
    text
}

fn dollars(micro_usd: u64) -> String {
    match micro_usd {
        0 => String::new(),
        micro_usd => format!("{}.{:06} USD", micro_usd / 1_000_000, micro_usd % 1_000_000),
    }
}

fn counted(count: u64) -> String {
    if count == 0 { String::new() } else { count.to_string() }
}

fn files(files: &[FileChange]) -> String {
    let shown = files.iter().take(SHOWN_FILES).map(|file| one_line(&file.path, TEXT_CHARS));
    let mut text = shown.collect::<Vec<_>>().join(", ");
    if files.len() > SHOWN_FILES {
        text.push_str(&format!(" and {} more", files.len() - SHOWN_FILES));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use ext_workspace_hooks::contract::{Change, RunId, Usage};

    fn record(files: &[&str]) -> ExecutionRecord {
        let file = |path: &&str| FileChange { path: (*path).into(), change: Change::Changed, content_hash: None };
        ExecutionRecord {
            id: RunId("01ab".into()),
            hook_id: "fmt".into(),
            start_ts: "2025-01-01T00:00:00Z".into(),
            end_ts: None,
            status: Status::Failed,
            exit_code: Some(3),
            attempts: 2,
            logs: Some("one\n\u{1b}[31mtwo\n".into()),
            trigger: "manual".into(),
            files: files.iter().map(file).collect(),
            metadata: serde_json::Map::new(),
            content_hash: None,
            reason: "exit code 3".into(),
            workspace: "w".into(),
            wrote: Vec::new(),
            usage: Usage::default(),
            session: None,
            patch: true,
            retry_of: None,
        }
    }

    #[test]
    fn a_table_has_a_row_for_each_run() {
        assert_eq!(listed(&[]), "no runs");
        let text = listed(&[record(&["a", "b", "c", "d"])]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "RUN   HOOK  STATUS  BEGAN                 FILES               REASON");
        assert_eq!(lines[1..], ["01ab  fmt   failed  2025-01-01T00:00:00Z  a, b, c and 1 more  exit code 3"]);
        assert_eq!(change(&record(&[])), "2025-01-01T00:00:00Z  01ab  fmt  failed  exit code 3");
    }

    #[test]
    fn what_a_run_printed_cannot_drive_the_terminal() {
        let text = whole(&record(&["a"]));
        assert!(text.contains("exit code  3\n") && text.contains("`dispatch runs apply 01ab`"), "{text}");
        assert!(text.contains("\n\none\n") && !text.contains('\u{1b}'), "{text}");
        assert!(!text.contains("ended"), "{text}");
    }

    #[test]
    fn states_are_known_by_their_words() {
        assert_eq!(status("timeout"), Ok(Status::Timeout));
        assert_eq!(
            status("done").unwrap_err(),
            "a run is queued, running, success, failed, timeout, canceled, refused"
        );
    }
}
