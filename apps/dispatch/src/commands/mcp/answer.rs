//! The answers of the MCP tools.

use super::tools::McpCall;
use crate::app::Status;
use crate::commands::intent::{declared, known, open_ones, row_json, session_id};
use crate::commands::plan::{PlanOutcome, SessionPlan};
use crate::failure::Failure;
use crate::printer::Printer;
use crate::settings::Loaded;
use crate::workspace::Workspace;
use ext_hook_pipeline::contract::session_state;
use ext_intents::contract::{IntentSpec, IntentWorkspace};
use serde_json::{Value, json};

/// The most intents in a list.
const MAX_LISTED: usize = 200;
/// The most sessions, newest first.
const MAX_SESSIONS: usize = 20;

/// The answer to a call; a failure is for the model to read.
pub(super) fn to(call: &McpCall, loaded: &Loaded, workspace: &Workspace) -> Result<String, Failure> {
    let intents = IntentWorkspace::at(&workspace.root);
    match call {
        McpCall::Select { intent_id } => select(&intents, intent_id),
        McpCall::List => list(&intents),
        McpCall::Status { intent_id: Some(id) } => status(workspace, &intents, id),
        McpCall::Status { intent_id: None } => Ok(pretty(&json!({"sessions": sessions(workspace)}))),
        McpCall::SubmitPlan { plan, session } => {
            let bytes = serde_json::to_vec(plan).map_err(|error| Failure::internal(error.to_string()))?;
            plan_of(workspace, session.as_deref(), "plan_submit")?.submit_bytes(&bytes).map(|outcome| outcome.text)
        }
        McpCall::StartNode { node_id, session } => {
            plan_of(workspace, session.as_deref(), "plan_node_start")?.start(node_id).map(|outcome| outcome.text)
        }
        McpCall::CompleteNode { node_id, result, session } => {
            let plan = plan_of(workspace, session.as_deref(), "plan_node_complete")?;
            done(plan.complete(loaded, node_id, result.as_deref(), &Printer::new())?)
        }
    }
}

/// The plan of the calling session: the one that is named, else the one whose hook reported this call, else the only
/// active one.
fn plan_of<'a>(workspace: &'a Workspace, named: Option<&str>, tool: &str) -> Result<SessionPlan<'a>, Failure> {
    let session = match named {
        Some(named) => session_id(workspace, Some(named))?,
        None => match workspace.session_calling(tool) {
            Some(session) => session,
            None => {
                workspace
                    .only_session(None)
                    .map_err(|failure| Failure { hints: Vec::new(), ..failure })
                    .map_err(|failure| failure.hint("name yours with the argument `session`"))?
                    .id
            }
        },
    };
    SessionPlan::of(workspace, Some(&session))
}

/// The open intents, for a call about intents whose arguments are wrong.
pub(super) fn open_intents(tool: &str, workspace: &Workspace) -> String {
    let intents = declared(&IntentWorkspace::at(&workspace.root)).ok().filter(|_| tool.contains("intent"));
    intents.map(|intents| format!("\nHint: {}", open_ones(&intents))).unwrap_or_default()
}

/// A failed validation is an error, so that a model does not take it for success.
fn done(outcome: PlanOutcome) -> Result<String, Failure> {
    match outcome.status {
        Status::Done => Ok(outcome.text),
        status => Err(Failure { status, ..Failure::usage(outcome.text) }),
    }
}

/// Only the context: the hook binds the session when it sees the call, because only the hook knows the session.
fn select(workspace: &IntentWorkspace, id: &str) -> Result<String, Failure> {
    let intents = declared(workspace)?;
    let intent = known(&intents, id)?;
    if !intent.status.is_open() {
        return Err(Failure::usage(format!("{id} is {} and cannot be selected", intent.status.as_str()))
            .hint(open_ones(&intents)));
    }
    Ok(workspace.context_of(intent).text)
}

fn list(workspace: &IntentWorkspace) -> Result<String, Failure> {
    let intents = declared(workspace)?;
    let open: Vec<_> = intents.intents.iter().filter(|intent| intent.status.is_open()).collect();
    let row = |intent: &&IntentSpec| {
        json!({
            "id": intent.id, "name": intent.name, "status": intent.status.as_str(), "owned_scope": intent.owned_scope,
        })
    };
    let rows: Vec<Value> = open.iter().take(MAX_LISTED).map(row).collect();
    Ok(pretty(&json!({"open_intents": rows, "left_out": open.len().saturating_sub(MAX_LISTED)})))
}

fn status(workspace: &Workspace, intents: &IntentWorkspace, id: &str) -> Result<String, Failure> {
    let declared = declared(intents)?;
    let intent = known(&declared, id)?;
    let mut value = row_json(intents, intent);
    let mine = sessions(workspace).into_iter().filter(|session| session["active_intent"] == id);
    value["sessions"] = mine.map(|session| session["session"].clone()).collect();
    Ok(pretty(&value))
}

/// The newest sessions and what they work on.
fn sessions(workspace: &Workspace) -> Vec<Value> {
    let newest = workspace.sessions().into_iter().rev().take(MAX_SESSIONS);
    let row = |session: crate::workspace::SessionLog| {
        let state = session_state(&workspace.paths(&session.id)).ok()?;
        Some(json!({"session": session.id, "active_intent": state.active_intent(), "phase": state.phase()}))
    };
    newest.filter_map(row).collect()
}

fn pretty(value: &Value) -> String {
    format!("{value:#}")
}
