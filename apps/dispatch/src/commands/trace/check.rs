//! `dispatch trace check`: fails when a change has lines that no intent covers.

use super::Place;
use crate::app::Status;
use crate::failure::Failure;
use crate::plain::one_line;
use crate::printer::Printer;
use ext_intents::error::IntentsError;
use ext_intents::query::check::{Untracked, check};
use ext_intents::query::sarif;
use serde_json::json;

const NAME_CHARS: usize = 400;

pub(super) const HELP: &str = "\
Looks at `git diff` from where HEAD left the base to the files on disk. A new line is covered when the ledger
says that an agent wrote it for an intent and inside its scope, or when its commit has a trailer `Intent: ID`
and that intent owns the file. Where lines were only taken away, a file is gone or has no lines (binary
files, submodules), it is covered when the file has such an entry or commit since the base. Lines without a
letter or digit go with their neighbours. A file that was only renamed has no new lines. Files below
.orchestration are the record itself and are left out.";

#[derive(Debug, clap::Args)]
pub(crate) struct CheckRequest {
    /// The branch or commit that the change starts from
    #[arg(long, value_name = "REF")]
    base: String,
    /// Look at files too that git does not know yet
    #[arg(long)]
    untracked: bool,
    /// Print one JSON object instead of text
    #[arg(long, conflicts_with = "sarif")]
    json: bool,
    /// Print a SARIF 2.1.0 log instead of text
    #[arg(long)]
    sarif: bool,
}

pub(super) fn run(place: &Place, request: &CheckRequest, printer: &Printer) -> Result<Status, Failure> {
    let git = place.required_git()?;
    let untracked = if request.untracked { Untracked::Included } else { Untracked::Left };
    let found = check(&place.layout, &git, &request.base, untracked).map_err(|error| match &error {
        IntentsError::Git { action: "find the base", .. } => {
            Failure::usage(format!("there is no commit `{}`", request.base))
                .hint("name a branch or commit; a shallow clone may not have it (fetch with full depth)")
        }
        _ => error.into(),
    })?;
    if request.sarif {
        printer.json(&sarif::log(&found, env!("CARGO_PKG_VERSION")))?;
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
