//! `dispatch trace verify`: proves that the ledger is as it was written, and says what that proves.

use super::Place;
use crate::app::Status;
use crate::failure::Failure;
use crate::paint::{Paint, Tone};
use crate::plain::one_line;
use crate::printer::{Format, Printer};
use ext_intents::query::verify::{Evidence, Problem, Verification, verify};
use serde_json::json;

const DETAIL_CHARS: usize = 400;
const SHOWN_NOTES: usize = 50;

pub(super) const HELP: &str = "\
Problems (exit status 1): a line that was edited, removed, moved or doubled; a line that is no entry or
breaks off; an id that comes twice; no agent_trace.head to prove the last line; a commit that remembers
another ledger (trailer Intent-Ledger, see `dispatch trace hook`).

Notes (exit status 0): what honest use brings about too. A file that was changed since its last entry,
or between two entries, by nobody the ledger knows: most often a person. A line that a killed writer left
half written. Lines past agent_trace.head, which a killed writer leaves too. With --strict the changed
files are problems: exit status 0 then means that every file is exactly as its last entry left it.

What it proves: every line is as it was written, in its order, from the first to the last.
What it cannot prove: that nobody wrote the ledger and agent_trace.head anew from some line on, or
removed both, unless a commit holds an anchor after that line; and that calls which no hook saw are in it.";

#[derive(Debug, clap::Args)]
pub(crate) struct VerifyRequest {
    /// Hold files that are not as the ledger left them to be problems too
    #[arg(long)]
    strict: bool,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

pub(super) fn run(place: &Place, request: &VerifyRequest, printer: &Printer) -> Result<Status, Failure> {
    let (mut found, evidence) = find(place)?;
    if request.strict {
        found = found.strict();
    }
    match Format::from(request.json) {
        Format::Json => printer.json(&json!({ "entries": found.entries, "problems": found.problems }))?,
        Format::Text => print(&found, &evidence, printer),
    }
    Ok(if found.problems.is_empty() { Status::Done } else { Status::No })
}

/// Verifies the ledger of a workspace with everything that is known about it.
pub(super) fn find(place: &Place) -> Result<(Verification, Evidence), Failure> {
    let ledger = place.ledger();
    let anchors = place.git().map(|git| git.anchors()).unwrap_or_default();
    // The head is read first: a writer may append meanwhile, and lines past the head are no problem.
    let evidence = Evidence { head: ledger.head(), anchors };
    let lines = ledger.lines().map_err(|error| place.unreadable(error))?;
    let verified = verify(lines, &evidence).map_err(|error| place.unreadable(error))?;
    Ok((verified.with_files(&place.layout), evidence))
}

fn print(found: &Verification, evidence: &Evidence, printer: &Printer) {
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
        1 => "1 entry, as it was written".to_owned(),
        many => format!("{many} entries, each as it was written, in its order"),
    };
    if found.entries > 0 {
        text.push_str(&format!("\n{} files are as their last entry left them", found.files));
        text.push_str(&match (found.anchors, evidence.anchors.len()) {
            (_, 0) => "\nnot proven: that ledger and head were not both written anew (no commit holds an anchor)".to_owned(),
            (proven, _) => format!("\n{proven} anchors in commits agree; not proven: that what follows the last of them was not written anew"),
        });
    }
    printer.out(&paint.text(Tone::Good, &text));
}

pub(super) fn row(problem: &Problem) -> String {
    let kind = serde_json::to_value(problem.kind).unwrap_or_default();
    let kind = kind.as_str().unwrap_or_default().replace('_', " ");
    format!("line {}: {kind}: {}", problem.line, one_line(&problem.detail, DETAIL_CHARS))
}
