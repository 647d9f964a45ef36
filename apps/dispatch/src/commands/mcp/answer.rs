//! What each tool answers.

use super::tools::Call;
use crate::app::Status;
use crate::commands::intent::{context_of, declared, known, open_ones, row_json};
use crate::commands::plan::{PlanOutcome, SessionPlan};
use crate::failure::Failure;
use crate::printer::Printer;
use crate::session_entry;
use crate::settings::Loaded;
use crate::workspace::Workspace;
use ext_intents::layout::Layout;
use ext_intents::ledger::Ledger;
use serde_json::{Value, json};

/// So many intents are listed.
const MAX_LISTED: usize = 200;
/// So many sessions are looked at, newest first.
const MAX_SESSIONS: usize = 20;

/// The answer to a call; a failure is for the model to read.
pub(super) fn to(call: &Call, loaded: &Loaded, workspace: &Workspace) -> Result<String, Failure> {
    let layout = Layout::new(&workspace.root);
    match call {
        Call::Select { intent_id } => select(&layout, intent_id),
        Call::List => list(&layout),
        Call::Status { intent_id: Some(id) } => status(workspace, &layout, id),
        Call::Status { intent_id: None } => Ok(pretty(&json!({"sessions": sessions(workspace)}))),
        Call::SubmitPlan { plan } => {
            let bytes = serde_json::to_vec(plan).map_err(|error| Failure::internal(error.to_string()))?;
            SessionPlan::of(workspace, None)?.submit_bytes(&bytes).map(|outcome| outcome.text)
        }
        Call::StartNode { node_id } => SessionPlan::of(workspace, None)?.start(node_id).map(|outcome| outcome.text),
        Call::CompleteNode { node_id, result } => {
            let plan = SessionPlan::of(workspace, None)?;
            done(plan.complete(loaded, node_id, result.as_deref(), &Printer::new())?)
        }
    }
}

/// A check that failed is an error, so that no model takes it for success.
fn done(outcome: PlanOutcome) -> Result<String, Failure> {
    match outcome.status {
        Status::Done => Ok(outcome.text),
        status => Err(Failure { status, ..Failure::usage(outcome.text) }),
    }
}

/// The context alone: the hook binds the session when it sees the call pass, because it knows which session calls.
fn select(layout: &Layout, id: &str) -> Result<String, Failure> {
    let intents = declared(layout)?;
    let intent = known(&intents, id)?;
    if !intent.status.is_open() {
        return Err(Failure::usage(format!("{id} is {} and cannot be selected", intent.status.as_str()))
            .hint(open_ones(&intents)));
    }
    Ok(context_of(layout, intent).text)
}

fn list(layout: &Layout) -> Result<String, Failure> {
    let intents = declared(layout)?;
    let open: Vec<_> = intents.intents.iter().filter(|intent| intent.status.is_open()).collect();
    let row = |intent: &&ext_intents::intent::IntentSpec| {
        json!({
            "id": intent.id, "name": intent.name, "status": intent.status.as_str(), "owned_scope": intent.owned_scope,
        })
    };
    let rows: Vec<Value> = open.iter().take(MAX_LISTED).map(row).collect();
    Ok(pretty(&json!({"open_intents": rows, "left_out": open.len().saturating_sub(MAX_LISTED)})))
}

fn status(workspace: &Workspace, layout: &Layout, id: &str) -> Result<String, Failure> {
    let intents = declared(layout)?;
    let intent = known(&intents, id)?;
    let mut value = row_json(intent, &Ledger::open(layout));
    let mine = sessions(workspace).into_iter().filter(|session| session["active_intent"] == id);
    value["sessions"] = mine.map(|session| session["session"].clone()).collect();
    Ok(pretty(&value))
}

/// The newest sessions and what they work on.
fn sessions(workspace: &Workspace) -> Vec<Value> {
    let newest = workspace.sessions().into_iter().rev().take(MAX_SESSIONS);
    let row = |session: crate::workspace::SessionLog| {
        let state = session_entry::state_of(&workspace.paths(&session.id)).ok()?;
        Some(json!({"session": session.id, "active_intent": state.active_intent(), "phase": state.phase()}))
    };
    newest.filter_map(row).collect()
}

fn pretty(value: &Value) -> String {
    format!("{value:#}")
}
