//! `dispatch trace check`: fails when changed lines are not covered by an intent.

use super::TraceWorkspace;
use crate::app::Status;
use crate::failure::Failure;
use crate::plain::one_line;
use crate::printer::Printer;
use ext_intents::contract::{UntrackedFiles, sarif_log};
use serde_json::json;

const NAME_CHARS: usize = 400;

pub(super) const HELP: &str = "\
Compares the files on disk with the merge base of HEAD and the base. A new line is covered when the ledger
shows that an agent wrote it for an intent and inside the scope of that intent, or when its commit has a
trailer `Intent: ID` and that intent owns the file. Removed lines, removed files, binary files and submodules
are covered when the file has such an entry or commit since the base. Lines without a letter or digit are
treated like their neighbours. A renamed file without other changes has no new lines. Files below
.orchestration are ignored.";

#[derive(Debug, clap::Args)]
pub(crate) struct CheckRequest {
    /// The branch or commit that the change starts from
    #[arg(long, value_name = "REF")]
    base: String,
    /// Include untracked files
    #[arg(long)]
    untracked: bool,
    /// Print one JSON object instead of text
    #[arg(long, conflicts_with = "sarif")]
    json: bool,
    /// Print a SARIF 2.1.0 log instead of text
    #[arg(long)]
    sarif: bool,
}

pub(super) fn run(workspace: &TraceWorkspace, request: &CheckRequest, printer: &Printer) -> Result<Status, Failure> {
    let untracked = if request.untracked { UntrackedFiles::Included } else { UntrackedFiles::Ignored };
    let found = workspace.intents.check(&request.base, untracked)?;
    if request.sarif {
        printer.json(&sarif_log(&found, env!("CARGO_PKG_VERSION")))?;
    } else if request.json {
        printer.json(&json!({ "uncovered": found }))?;
    } else if found.is_empty() {
        printer.out("every changed line belongs to an intent");
    } else {
        for span in &found {
            let lines =
                if span.start == span.end { span.start.to_string() } else { format!("{}-{}", span.start, span.end) };
            printer.out(&format!("{}:{lines}: no intent covers this", one_line(&span.file, NAME_CHARS)));
        }
    }
    Ok(if found.is_empty() { Status::Done } else { Status::No })
}
