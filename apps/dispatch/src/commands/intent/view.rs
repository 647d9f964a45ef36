//! `dispatch intent list|show|check`

use super::{declared, known, shown};
use crate::app::Status;
use crate::failure::Failure;
use crate::plain::one_line;
use crate::printer::{Format, Printer, table};
use ext_intents::curate::{Curated, MAX_ENTRIES, SpatialEntry, curate};
use ext_intents::file::{FileState, load};
use ext_intents::intent::IntentSpec;
use ext_intents::layout::Layout;
use ext_intents::ledger::Ledger;
use ext_intents::tokens;
use serde_json::{Value, json};

const NAME_CHARS: usize = 50;
const SCOPE_CHARS: usize = 60;

/// Which intents are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Listed {
    /// Those that can be worked on.
    Open,
    All,
}

impl From<bool> for Listed {
    fn from(all: bool) -> Self {
        if all { Self::All } else { Self::Open }
    }
}

pub(super) fn list(layout: &Layout, listed: Listed, format: Format, printer: &Printer) -> Result<Status, Failure> {
    let intents = declared(layout)?;
    let wanted = |intent: &&IntentSpec| listed == Listed::All || intent.status.is_open();
    let chosen: Vec<&IntentSpec> = intents.intents.iter().filter(wanted).collect();
    let ledger = Ledger::open(layout);
    if format == Format::Json {
        let rows: Vec<Value> = chosen.iter().map(|intent| row_json(intent, &ledger)).collect();
        printer.json(&json!({ "intents": rows, "problems": intents.problems }))?;
        return Ok(Status::Done);
    }
    if intents.has_errors() {
        printer.warn("the file has errors, and what is wrong is left out: `dispatch intent check`");
    }
    let row = |intent: &&IntentSpec| {
        vec![
            intent.id.clone(),
            intent.status.as_str().to_owned(),
            one_line(&intent.name, NAME_CHARS),
            one_line(&intent.owned_scope.join(" "), SCOPE_CHARS),
            last_activity(intent, &ledger).unwrap_or_else(|| "no changes yet".to_owned()),
        ]
    };
    match chosen.is_empty() {
        true if intents.intents.is_empty() => printer.out("no intent is declared"),
        true => printer.out("no intent is open; --all shows the others"),
        false => printer.out(&table(&chosen.iter().map(row).collect::<Vec<_>>())),
    }
    Ok(Status::Done)
}

/// One intent with when it last changed something.
pub(crate) fn row_json(intent: &IntentSpec, ledger: &Ledger) -> Value {
    let mut value = serde_json::to_value(intent).unwrap_or_default();
    value["open"] = intent.status.is_open().into();
    value["last_activity"] = last_activity(intent, ledger).into();
    value
}

fn last_activity(intent: &IntentSpec, ledger: &Ledger) -> Option<String> {
    ledger.recent(&intent.id, 1).into_iter().next().map(|entry| entry.timestamp)
}

pub(super) fn show(layout: &Layout, id: &str, format: Format, printer: &Printer) -> Result<Status, Failure> {
    let intents = declared(layout)?;
    let intent = known(&intents, id)?;
    let curated = context_of(layout, intent);
    match format {
        Format::Json => printer.json(&json!({"intent": intent, "context": curated}))?,
        Format::Text => printer.out(&curated.text),
    }
    Ok(Status::Done)
}

/// What an agent is told about an intent.
pub(crate) fn context_of(layout: &Layout, intent: &IntentSpec) -> Curated {
    let ledger = Ledger::open(layout);
    let files = ledger.files_of(&intent.id).iter().filter_map(SpatialEntry::of).collect();
    curate(intent, files, ledger.recent(&intent.id, MAX_ENTRIES), &tokens::count)
}

pub(super) fn check(layout: &Layout, format: Format, printer: &Printer) -> Result<Status, Failure> {
    let intents = load(layout);
    let file = shown(&layout.intents_file());
    let wrong = intents.has_errors();
    if format == Format::Json {
        let state = match intents.state {
            FileState::Absent => "absent",
            FileState::Malformed => "malformed",
            FileState::Read => "read",
        };
        printer.json(&json!({
            "file": file, "state": state, "intents": intents.intents.len(), "problems": intents.problems,
        }))?;
    } else {
        for problem in &intents.problems {
            printer.out(&format!("{file}:{problem}"));
        }
        match intents.state {
            FileState::Absent => printer.out("there is no intent file, so nothing is asked of anybody"),
            _ if intents.problems.is_empty() => {
                printer.out(&format!("{file}: {} intents, nothing wrong", intents.intents.len()))
            }
            _ => {}
        }
    }
    Ok(if wrong { Status::No } else { Status::Done })
}
