//! What `dispatch watch` prints: one line when it watches, the output of runs, one line for each that ends, a word when the
//! hooks change.

use super::run_outputs::ShowOutput;
use crate::plain::{lines, one_line};
use crate::printer::{Format, Printer};
use dispatch_os::time::parse_rfc3339;
use ext_workspace_hooks::contract::{ExecutionRecord, HookSet, Problem};
use serde_json::json;
use std::path::Path;

const NAME_CHARS: usize = 120;
const REASON_CHARS: usize = 300;
/// Lines of output that are shown at once.
const MAX_LINES: usize = 10_000;

/// Prints for one workspace.
pub(super) struct WatchPrinter<'a> {
    format: Format,
    workspace: &'a Path,
    printer: &'a Printer,
    output: ShowOutput,
}

impl<'a> WatchPrinter<'a> {
    pub(super) const fn new(format: Format, workspace: &'a Path, printer: &'a Printer, output: ShowOutput) -> Self {
        Self { format, workspace, printer, output }
    }

    /// Whether the output of runs is shown; in JSON it is part of the run.
    pub(super) fn shows_output(&self) -> bool {
        self.format == Format::Text && self.output.is_on()
    }

    /// What a run of a hook has printed, line by line.
    pub(super) fn output(&self, hook: &str, text: &str) {
        let hook = one_line(hook, NAME_CHARS);
        lines(text, MAX_LINES).iter().for_each(|line| self.line(&format!("{hook} | {line}")));
    }

    /// The one line that says that from now on nothing is missed.
    pub(super) fn watching(&self, set: &HookSet, folders: usize) {
        let hooks = set.hooks.len();
        match self.format {
            Format::Text => self.line(&format!(
                "watching {}: {hooks} {}, {folders} {}",
                self.workspace.display(),
                if hooks == 1 { "hook" } else { "hooks" },
                if folders == 1 { "folder" } else { "folders" },
            )),
            Format::Json => {
                self.line(&json!({ "watching": self.workspace, "hooks": hooks, "folders": folders }).to_string());
            }
        }
    }

    /// What is wrong with the hooks, and which do not run.
    pub(super) fn set(&self, set: &HookSet) {
        set.problems.iter().for_each(|problem| self.problem(problem));
        for dormant in &set.dormant {
            let (hook, why) = (one_line(&dormant.hook_id, NAME_CHARS), one_line(&dormant.reason, REASON_CHARS));
            self.printer.warn(&format!("hook `{hook}` does not run: {why}"));
        }
    }

    /// The hooks are others than before.
    pub(super) fn reloaded(&self, set: &HookSet) {
        let hooks = set.hooks.len();
        self.printer.note(&if set.problems.is_empty() {
            format!("the hooks have changed: {hooks} {} on", if hooks == 1 { "is" } else { "are" })
        } else {
            format!("the hook files are invalid; the last valid hooks stay on: {hooks}")
        });
        self.set(set);
    }

    /// A run that has ended; of others nothing is said.
    pub(super) fn run(&self, record: &ExecutionRecord) {
        if !record.status.is_over() {
            return;
        }
        match self.format {
            Format::Text => self.line(&summary(record)),
            Format::Json => self.line(&json!(record).to_string()),
        }
    }

    pub(super) fn warn(&self, text: &str) {
        self.printer.warn(&one_line(text, REASON_CHARS));
    }

    fn problem(&self, problem: &Problem) {
        let (file, message) = (one_line(&problem.file, NAME_CHARS), one_line(&problem.message, REASON_CHARS));
        self.printer.warn(&format!("{file}:{}:{}: {message}", problem.line, problem.column));
        if let Some(hint) = &problem.hint {
            self.printer.note(&format!("hint: {}", one_line(hint, REASON_CHARS)));
        }
    }

    fn line(&self, text: &str) {
        // A reader that has gone away is no reason to stop working.
        let _ = self.printer.stream(text.as_bytes());
    }
}

/// A run on one line.
fn summary(record: &ExecutionRecord) -> String {
    let files = match record.files.as_slice() {
        [] => String::new(),
        [file] => format!("  {}", one_line(&file.path, NAME_CHARS)),
        [file, more @ ..] => format!("  {} +{}", one_line(&file.path, NAME_CHARS), more.len()),
    };
    let end = record.end_ts.as_deref().and_then(parse_rfc3339);
    let taken = parse_rfc3339(&record.start_ts).zip(end).map(|(start, end)| end.saturating_sub(start).max(0));
    let taken = taken.map_or_else(String::new, |ms| format!("  {}.{} s", ms / 1000, ms % 1000 / 100));
    let reason =
        if record.reason.is_empty() { String::new() } else { format!(": {}", one_line(&record.reason, REASON_CHARS)) };
    let (status, hook) = (record.status.word(), one_line(&record.hook_id, NAME_CHARS));
    format!("{status:<8}  {hook}{files}{taken}  {}{reason}", record.id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ext_workspace_hooks::contract::{Change, FileChange, RunId, Status, Usage};

    #[test]
    fn a_run_is_one_harmless_line() {
        let file = |path: &str| FileChange { path: path.to_owned(), change: Change::Changed, content_hash: None };
        let mut record = ExecutionRecord {
            id: RunId("01RUN".to_owned()),
            hook_id: "lint".to_owned(),
            start_ts: "2026-01-01T00:00:00.000Z".to_owned(),
            end_ts: Some("2026-01-01T00:00:01.250Z".to_owned()),
            status: Status::Success,
            exit_code: Some(0),
            attempts: 1,
            logs: None,
            trigger: "onDidSaveTextDocument".to_owned(),
            files: vec![file("src/\u{1b}[2Ja.rs")],
            metadata: serde_json::Map::new(),
            content_hash: None,
            reason: String::new(),
            workspace: "/w".to_owned(),
            wrote: Vec::new(),
            usage: Usage::default(),
            session: None,
            patch: false,
            retry_of: None,
        };
        assert_eq!(summary(&record), "success   lint  src/\u{fffd}[2Ja.rs  1.2 s  01RUN");
        record.status = Status::Failed;
        record.reason = "exit code 1\nmore".to_owned();
        record.files.push(file("b"));
        record.end_ts = None;
        assert_eq!(summary(&record), "failed    lint  src/\u{fffd}[2Ja.rs +1  01RUN: exit code 1 more");
    }
}
