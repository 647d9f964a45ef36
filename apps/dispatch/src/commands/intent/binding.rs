//! `dispatch intent select` and `clear`: which intent a session of an agent works on.

use dispatch_hook_module::{EmittedRecord, EventName, HookEvent, RecordType, SessionState, sid};

use super::{declared, known, open_ones};
use crate::app::Status;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::workspace::Workspace;
use ext_hook_pipeline::contract::{append_to_session, session_state};
use ext_intents::contract::{IntentWorkspace, MODULE_NAME, active_intent_patch};
use serde_json::{Value, json};

#[derive(Debug, clap::Args)]
pub(crate) struct SessionArgs {
    /// The session, by the id that its host uses, or by its id in .ai/tmp or the start of it [default: the only active one]
    #[arg(long, value_name = "HOST_SESSION_ID")]
    session: Option<String>,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

pub(super) fn select(
    workspace: &Workspace,
    intents: &IntentWorkspace,
    id: &str,
    session: &SessionArgs,
    printer: &Printer,
) -> Result<Status, Failure> {
    let intents = declared(intents)?;
    let intent = known(&intents, id)?;
    if !intent.status.is_open() {
        let failure = Failure::usage(format!("{id} is {}", intent.status.as_str())).hint(open_ones(&intents));
        return Err(Failure { status: Status::No, ..failure });
    }
    let sid = session_id(workspace, session.session.as_deref())?;
    bind(workspace, &sid, Some(id))?;
    tell(session, printer, json!({"session": sid, "intent": id}), &format!("session {sid} works on {id}"))
}

pub(super) fn clear(workspace: &Workspace, session: &SessionArgs, printer: &Printer) -> Result<Status, Failure> {
    let sid = session_id(workspace, session.session.as_deref())?;
    let before = bind(workspace, &sid, None)?;
    let text = match &before {
        Some(before) => format!("session {sid} no longer works on {before}"),
        None => format!("session {sid} had no intent"),
    };
    tell(session, printer, json!({"session": sid, "cleared": before}), &text)
}

fn tell(session: &SessionArgs, printer: &Printer, value: Value, text: &str) -> Result<Status, Failure> {
    match session.json {
        true => printer.json(&value)?,
        false => printer.out(text),
    }
    Ok(Status::Done)
}

/// The named session, else the newest. A session without a log can only be named by the id that its host uses.
pub(crate) fn session_id(workspace: &Workspace, wanted: Option<&str>) -> Result<String, Failure> {
    let Some(wanted) = wanted else {
        return Ok(workspace.only_session(None)?.id);
    };
    if wanted.trim().is_empty() {
        return Err(Failure::usage("empty session id").hint("`dispatch events` lists the sessions"));
    }
    let of_host = sid_of(wanted);
    let sessions = workspace.sessions();
    if sessions.iter().any(|session| session.id == of_host) {
        return Ok(of_host);
    }
    let begins = |id: &str| wanted.len() <= of_host.len() && id.starts_with(wanted);
    if sessions.iter().any(|session| begins(&session.id)) {
        return Ok(workspace.session(Some(wanted))?.id);
    }
    Ok(of_host)
}

/// The short id of a session, from the id that its host uses.
pub(crate) fn sid_of(host_id: &str) -> String {
    let mut event = HookEvent::new(EventName::SessionStart, "native", String::new(), Value::Null);
    event.session_id = Some(host_id.to_owned());
    sid(&event)
}

/// Binds and records it; returns the intent that was bound before.
fn bind(workspace: &Workspace, sid: &str, intent: Option<&str>) -> Result<Option<String>, Failure> {
    let paths = workspace.paths(sid);
    // A session whose host has not fired an event yet has no log.
    let state =
        if dispatch_os::files::exists(paths.events_file()) { session_state(&paths)? } else { SessionState::default() };
    let before = state.active_intent().map(str::to_owned);
    if before.as_deref() == intent {
        return Ok(before);
    }
    let (kind, told) = match intent {
        Some(id) => (RecordType::IntentSelected, id.to_owned()),
        None => (RecordType::IntentCleared, before.clone().unwrap_or_default()),
    };
    let record = EmittedRecord { kind, data: json!({"intent": told, "by": "user"}) };
    let patch = active_intent_patch(intent);
    append_to_session(&paths, &state, MODULE_NAME, vec![record], Some(patch))?;
    Ok(before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_id_is_hashed_as_the_pipeline_does() {
        assert_eq!(sid_of("abc"), "ba7816bf");
    }
}
