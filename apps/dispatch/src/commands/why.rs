//! `dispatch why`: who decided about one hook event, on what, how long it took, and what would change the answer.

mod find;
mod remedy;

use dispatch_hook_module::{Decision, Record, RecordType};

use super::decision_text;
use crate::app::Status;
use crate::failure::Failure;
use crate::plain::one_line;
use crate::printer::{Format, Printer};
use crate::settings::Loaded;
use crate::workspace::Workspace;
use ext_hook_pipeline::contract::DecisionReport;
use find::HookRun;
use serde_json::{Value, json};

/// What is shown of a warning.
const NOTE_CHARS: usize = 300;

#[derive(Debug, clap::Args)]
pub(crate) struct WhyRequest {
    /// A hook run id, a record id, or a prefix of one; `last` for the newest
    #[arg(value_name = "ID|last")]
    id: String,
    /// Only this session, by id or a prefix of it
    #[arg(long, value_name = "SID")]
    session: Option<String>,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

/// Everything that is known about one decision.
struct DecisionAnswer {
    run: HookRun,
    /// The run that was decided on first, where this one is a second delivery.
    first: Option<HookRun>,
    report: DecisionReport,
    remedies: Vec<String>,
}

pub(crate) fn run(loaded: &Loaded, request: &WhyRequest, printer: &Printer) -> Result<Status, Failure> {
    let workspace = Workspace::of(loaded);
    let sessions = workspace.chosen(request.session.as_deref())?;
    let found = match request.id.as_str() {
        "last" => find::last(&sessions)?,
        id => find::by_id(&sessions, id)?,
    };
    let first = match text(&found.record, "first") {
        Some(id) => find::in_session(&sessions, &found.record.session_id, id)?,
        None => None,
    };
    let told = first.as_ref().unwrap_or(&found);
    let report =
        DecisionReport::from_record(&told.record).ok_or_else(|| Failure::internal("the record holds no decision"))?;
    let remedies = remedy::remedies(&report, text(&told.record, "decidedBy"));
    let answer = DecisionAnswer { run: found, first, report, remedies };
    match Format::from(request.json) {
        Format::Json => printer.json(&answer.to_json())?,
        Format::Text => {
            printer.out(&answer.to_text(&workspace));
            if request.id == "last" && answer.report.decision == Decision::Allow {
                hint_at_objection(&sessions, printer)?;
            }
        }
    }
    Ok(Status::Done)
}

fn hint_at_objection(sessions: &[crate::workspace::SessionLog], printer: &Printer) -> Result<(), Failure> {
    if let Some(run) = find::last_objection(sessions)? {
        let decision = run.record.decision.map_or("?", Decision::as_str);
        printer.out(&format!("\nlast call that was not allowed ({decision}): dispatch why {}", run.record.hook_run_id));
    }
    Ok(())
}

impl DecisionAnswer {
    fn told(&self) -> &HookRun {
        self.first.as_ref().unwrap_or(&self.run)
    }

    fn to_json(&self) -> Value {
        let record = &self.run.record;
        let told = &self.told().record;
        let mut value = serde_json::to_value(&self.report).unwrap_or_default();
        let more = json!({
            "hookRunId": record.hook_run_id,
            "id": record.id,
            "ts": record.ts,
            "turn": record.turn_id,
            "agent": record.agent_id,
            "ms": record.ms,
            "decidedBy": told.data.get("decidedBy"),
            "redelivered": self.first.is_some() || record.data.get("redelivered").is_some(),
            "first": record.data.get("first"),
            "rewrittenBy": told.data.get("rewrittenBy"),
            "updatedInput": told.data.get("updatedInput"),
            "outOfTimeAt": told.data.get("outOfTimeAt"),
            "notes": self.told().notes.iter().map(note).collect::<Vec<_>>(),
            "remedies": self.remedies,
        });
        if let (Some(fields), Value::Object(more)) = (value.as_object_mut(), more) {
            fields.extend(more);
        }
        value
    }

    fn to_text(&self, workspace: &Workspace) -> String {
        let record = &self.run.record;
        let told = &self.told().record;
        let mut rows = vec![
            ("event", format!("{} from {}", self.report.event, self.report.host)),
            ("run", format!("{} at {}", record.hook_run_id, record.ts)),
            ("session", format!("{}, turn {}, agent {}", record.session_id, record.turn_id, record.agent_id)),
        ];
        if record.data.get("redelivered").is_some() {
            let first = text(record, "first").unwrap_or("an earlier run");
            rows.push(("again", format!("the host delivered this event before; the answer of {first} was repeated")));
        }
        rows.extend(decision_text::rows(&self.report, text(told, "decidedBy"), told.ms, &workspace.root));
        let facts =
            [("rewrittenBy", "rewritten", "the input was changed by"), ("outOfTimeAt", "time", "ran out before")];
        for (name, label, words) in facts {
            rows.extend(text(told, name).map(|module| (label, format!("{words} {module}"))));
        }
        let updated = told.data.get("updatedInput").map(|input| one_line(&input.to_string(), NOTE_CHARS));
        rows.extend(updated.map(|input| ("input now", input)));
        rows.extend(self.told().notes.iter().map(|record| ("note", note(record))));
        rows.extend(self.remedies.iter().map(|remedy| ("to change", remedy.clone())));
        decision_text::render(&rows)
    }
}

/// A record beside the decision, in words.
fn note(record: &Record) -> String {
    let said = ["message", "error", "code"].into_iter().find_map(|name| text(record, name));
    let said = said.map_or_else(|| record.data.to_string(), str::to_owned);
    let kind = match record.kind {
        RecordType::Warning => String::new(),
        _ => format!("{} ", record.kind),
    };
    one_line(&format!("{kind}{}: {said}", record.module), NOTE_CHARS)
}

fn text<'r>(record: &'r Record, name: &str) -> Option<&'r str> {
    record.data.get(name).and_then(Value::as_str)
}
