//! `dispatch trace verify`: verifies the ledger and shows what that proves.

use super::TraceWorkspace;
use crate::app::Status;
use crate::failure::Failure;
use crate::paint::{Paint, Tone};
use crate::plain::one_line;
use crate::printer::{Format, Printer};
use ext_intents::contract::{LedgerFinding, LedgerVerification};
use serde_json::json;

const DETAIL_CHARS: usize = 400;
const SHOWN_NOTES: usize = 50;

pub(super) const HELP: &str = "\
Problems (exit status 1): a line that was edited, removed, moved or repeated; a line that is not an entry or is
incomplete; a duplicate id; a missing or damaged agent_trace.head; a commit whose anchor does not match the
ledger (trailer Intent-Ledger, see `dispatch trace hook`).

Notes (exit status 0) also occur in normal use: a file that changed since its last entry, or between two
entries, without an entry (usually a person changed it); a half-written line, or lines past agent_trace.head,
left by a killed writer. With --strict the changed files are problems: exit status 0 then means that every
file equals its last entry.

What it proves: every line is unchanged and in order, from the first to the last.
What it does not prove: that the ledger and agent_trace.head were not rewritten together from some line on, or
both removed, unless a commit has an anchor after that line; nor that it contains calls which no hook saw.";

#[derive(Debug, clap::Args)]
pub(crate) struct VerifyRequest {
    /// Treat files that differ from their last entry as problems
    #[arg(long)]
    strict: bool,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

pub(super) fn run(workspace: &TraceWorkspace, request: &VerifyRequest, printer: &Printer) -> Result<Status, Failure> {
    let mut found = workspace.intents.verify()?;
    if request.strict {
        found = found.strict();
    }
    match Format::from(request.json) {
        Format::Json => printer.json(&json!({ "entries": found.entries, "problems": found.problems }))?,
        Format::Text => print(&found, printer),
    }
    Ok(if found.problems.is_empty() { Status::Done } else { Status::No })
}

fn print(found: &LedgerVerification, printer: &Printer) {
    let paint = Paint::for_stdout();
    for problem in &found.problems {
        printer.out(&paint.text(Tone::Bad, &row(problem)));
    }
    for note in found.notes.iter().take(SHOWN_NOTES) {
        printer.note(&format!("note: {}", row(note)));
    }
    if found.notes.len() > SHOWN_NOTES {
        printer.note(&format!("note: and {} more", found.notes.len() - SHOWN_NOTES));
    }
    if !found.problems.is_empty() {
        printer.note(&format!("{} entries, {} problems", found.entries, found.problems.len()));
        return;
    }
    let mut text = match found.entries {
        0 => "no entries".to_owned(),
        1 => "1 entry, unchanged".to_owned(),
        many => format!("{many} entries, unchanged and in order"),
    };
    if found.entries > 0 {
        text.push_str(&format!("\n{} files equal their last entry", found.files));
        text.push_str(&match (found.anchors, found.compared_anchors) {
            (_, 0) => {
                "\nnot proven: that ledger and head were not rewritten together (no commit has an anchor)".to_owned()
            }
            (proven, _) => format!(
                "\n{proven} anchors in commits match; not proven: that lines after the last of them were not rewritten"
            ),
        });
    }
    printer.out(&paint.text(Tone::Good, &text));
}

pub(super) fn row(finding: &LedgerFinding) -> String {
    let detail = one_line(&finding.detail, DETAIL_CHARS);
    format!("line {}: {}: {detail}", finding.line, finding.kind.in_words())
}
