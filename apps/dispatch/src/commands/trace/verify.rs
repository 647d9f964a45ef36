//! `dispatch trace verify`: verifies the ledger and shows what that proves.

use super::TraceWorkspace;
use crate::app::Status;
use crate::failure::Failure;
use crate::paint::{Paint, Tone};
use crate::plain::one_line;
use crate::printer::{Format, Printer};
use ext_intents::contract::{ARCHIVED, LedgerFinding, LedgerVerification};
use serde_json::json;

const DETAIL_CHARS: usize = 400;
const SHOWN_NOTES: usize = 50;

pub(super) const HELP: &str = "\
Each line follows the last line of its session by its hash, so lines verify in any order, and a merge that keeps
the lines of both sides verifies.

Problems (exit status 1): a line that was edited or removed; a line that is not an entry or is incomplete; a
duplicate id; lines of the committed ledger that are missing on disk; a commit that removed an entry while the
change is still there; a commit whose anchor is missing (trailer Intent-Ledger, see `dispatch trace hook`).

Notes (exit status 0) also occur in normal use: a file that changed since its last entry, or between two
entries, without an entry (usually a person changed it); a half-written line of a killed writer; lines that git
dropped (a revert, a dropped commit, a reset). With --strict changed files and dropped lines are problems.

What it proves: no line that a commit or this machine knows was edited or removed.
What it does not prove: that lines were not removed before the first commit on another machine; nor that the
ledger contains calls which no hook saw.";

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
        Format::Json => {
            printer.json(&json!({ "entries": found.entries, "problems": found.problems, "notes": found.notes }))?
        }
        Format::Text => print(&found, printer),
    }
    if let (bytes, true) = workspace.intents.ledger_size() {
        printer.warn(&format!(
            "the ledger has {} MB; `dispatch trace archive` moves the entries of ended sessions out of it",
            bytes / 1_000_000
        ));
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
        many => format!("{many} entries, unchanged"),
    };
    if found.entries > 0 {
        text.push_str(&format!("\n{} files equal their last entry", found.files));
        text.push_str(&match (found.anchors, found.compared_anchors) {
            (_, 0) => "\nno commit has an anchor; `dispatch trace hook install` adds them".to_owned(),
            (proven, _) => format!("\n{proven} anchors in commits match"),
        });
    }
    printer.out(&paint.text(Tone::Good, &text));
}

pub(super) fn row(finding: &LedgerFinding) -> String {
    let detail = one_line(&finding.detail, DETAIL_CHARS);
    let place = if finding.line == ARCHIVED { "archive".to_owned() } else { format!("line {}", finding.line) };
    format!("{place}: {}: {detail}", finding.kind.in_words())
}
