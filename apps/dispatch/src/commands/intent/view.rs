//! `dispatch intent list|show|check`

use super::{declared, known, shown};
use crate::app::Status;
use crate::failure::Failure;
use crate::plain::one_line;
use crate::printer::{Format, Printer, table};
use ext_intents::contract::{IntentFileState, IntentSpec, IntentWorkspace};
use serde_json::{Value, json};

const NAME_CHARS: usize = 50;
const SCOPE_CHARS: usize = 60;

/// Which intents are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ListedIntents {
    /// Open intents.
    Open,
    All,
}

impl From<bool> for ListedIntents {
    fn from(all: bool) -> Self {
        if all { Self::All } else { Self::Open }
    }
}

pub(super) fn list(
    workspace: &IntentWorkspace,
    listed: ListedIntents,
    format: Format,
    printer: &Printer,
) -> Result<Status, Failure> {
    let intents = declared(workspace)?;
    let wanted = |intent: &&IntentSpec| listed == ListedIntents::All || intent.status.is_open();
    let chosen: Vec<&IntentSpec> = intents.intents.iter().filter(wanted).collect();
    if format == Format::Json {
        let rows: Vec<Value> = chosen.iter().map(|intent| row_json(workspace, intent)).collect();
        printer.json(&json!({ "intents": rows, "problems": intents.problems }))?;
        return Ok(Status::Done);
    }
    if intents.has_errors() {
        printer.warn("the file has errors, and invalid intents are ignored; `dispatch intent check` shows them");
    }
    let row = |intent: &&IntentSpec| {
        vec![
            intent.id.clone(),
            intent.status.as_str().to_owned(),
            one_line(&intent.name, NAME_CHARS),
            one_line(&intent.owned_scope.join(" "), SCOPE_CHARS),
            workspace.last_activity(&intent.id).unwrap_or_else(|| "no changes yet".to_owned()),
        ]
    };
    match chosen.is_empty() {
        true if intents.intents.is_empty() => printer.out("no intents"),
        true => printer.out("no open intents; --all shows the others"),
        false => printer.out(&table(&chosen.iter().map(row).collect::<Vec<_>>())),
    }
    Ok(Status::Done)
}

/// One intent with the time of its newest entry.
pub(crate) fn row_json(workspace: &IntentWorkspace, intent: &IntentSpec) -> Value {
    let mut value = serde_json::to_value(intent).unwrap_or_default();
    value["open"] = intent.status.is_open().into();
    value["last_activity"] = workspace.last_activity(&intent.id).into();
    value
}

pub(super) fn show(
    workspace: &IntentWorkspace,
    id: &str,
    format: Format,
    printer: &Printer,
) -> Result<Status, Failure> {
    let intents = declared(workspace)?;
    let intent = known(&intents, id)?;
    let context = workspace.context_of(intent);
    match format {
        Format::Json => printer.json(&json!({"intent": intent, "context": context}))?,
        Format::Text => printer.out(&context.text),
    }
    Ok(Status::Done)
}

pub(super) fn check(workspace: &IntentWorkspace, format: Format, printer: &Printer) -> Result<Status, Failure> {
    let intents = workspace.load_intents();
    let file = shown(&workspace.intents_file());
    let wrong = intents.has_errors();
    if format == Format::Json {
        let state = match intents.state {
            IntentFileState::Absent => "absent",
            IntentFileState::Malformed => "malformed",
            IntentFileState::Read => "read",
        };
        printer.json(&json!({
            "file": file, "state": state, "intents": intents.intents.len(), "problems": intents.problems,
        }))?;
    } else {
        for problem in &intents.problems {
            printer.out(&format!("{file}:{problem}"));
        }
        match intents.state {
            IntentFileState::Absent => printer.out("no intent file, so intents are off"),
            _ if intents.problems.is_empty() => {
                printer.out(&format!("{file}: {} intents, no problems", intents.intents.len()))
            }
            _ => {}
        }
    }
    Ok(if wrong { Status::No } else { Status::Done })
}
