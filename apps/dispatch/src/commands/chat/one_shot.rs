//! One message: sent, followed to the end of its turn, and told as text or as one object.

use super::asking::ask_person;
use super::outcome::Outcome;
use super::{ChatRequest, ask};
use crate::app::Status;
use crate::failure::Failure;
use crate::plain::one_line;
use crate::printer::{Format, Printer};
use crate::running::Running;
use dispatch_contracts::turn::TurnEvent;
use dispatch_os::Ulid;
use ext_conversation_store::contract::{CONVERSATIONS, Conversations, SessionFilter};
use ext_session_orchestrator::contract::{
    APPROVALS, Approvals, Ask, DispatchId, SESSIONS, SessionEvents, SessionNews, Sessions, SessionsError, Submission,
};
use futures_util::StreamExt;
use std::sync::Arc;

/// The longest line that tells of a tool call.
const CALL_CHARS: usize = 160;

pub(super) async fn run(
    running: &Running,
    request: &ChatRequest,
    text: &str,
    format: Format,
    printer: &Printer,
) -> Result<Status, Failure> {
    let sessions = running.service(&SESSIONS)?;
    let approvals = running.service(&APPROVALS)?;
    let conversations = running.host().service(&CONVERSATIONS);
    let label = label(request, conversations.as_deref()).await?;
    let events = sessions.watch(&label, None).await.map_err(refused)?;
    let submission = Submission {
        session: label.clone(),
        text: text.to_owned(),
        mode: request.mode.into(),
        model: request.model.clone(),
        ask: ask(request),
        source: "chat".to_owned(),
        ..Submission::default()
    };
    let asks = submission.ask;
    let receipt = sessions.submit(submission).await.map_err(refused)?;
    let follow = Follow { approvals, asks, format, printer, dispatch: receipt.dispatch.clone() };
    let outcome = follow.to_the_end(&label, events, sessions.as_ref()).await?;
    match format {
        Format::Json => printer.json(&outcome)?,
        Format::Text => outcome.tell(printer),
    }
    Ok(if outcome.is_finished() { Status::Done } else { Status::No })
}

/// The session that was named, the last one, or a new one.
async fn label(request: &ChatRequest, conversations: Option<&dyn Conversations>) -> Result<String, Failure> {
    if let Some(label) = &request.session {
        return Ok(label.clone());
    }
    if request.go_on {
        let conversations = conversations
            .ok_or_else(|| Failure::configuration("there is no storage, so there is nothing to go on with"))?;
        let newest = conversations.sessions(SessionFilter { limit: 1, ..SessionFilter::default() }).await;
        let newest = newest.map_err(|error| Failure::internal(error.to_string()))?;
        let session = newest.into_iter().next().ok_or_else(|| Failure::usage("there is no session yet"))?;
        return Ok(session.label);
    }
    Ok(format!("chat-{}", Ulid::generate().to_string().to_lowercase()))
}

/// A refusal of the queue as a failure of the command.
pub(super) fn refused(error: SessionsError) -> Failure {
    match error {
        SessionsError::Invalid(_) | SessionsError::Unknown { .. } => Failure::usage(error.to_string()),
        other => Failure::internal(other.to_string()),
    }
}

struct Follow<'a> {
    approvals: Arc<dyn Approvals>,
    asks: Ask,
    format: Format,
    printer: &'a Printer,
    dispatch: DispatchId,
}

impl Follow<'_> {
    async fn to_the_end(
        &self,
        label: &str,
        mut events: SessionEvents,
        sessions: &dyn Sessions,
    ) -> Result<Outcome, Failure> {
        let mut outcome = Outcome::new(label);
        let mut cancelling = false;
        loop {
            let event = tokio::select! {
                event = events.next() => event,
                _ = tokio::signal::ctrl_c() => {
                    if cancelling {
                        return Err(Failure::internal("left before the turn was over"));
                    }
                    cancelling = true;
                    sessions.cancel(&self.dispatch).await.map_err(refused)?;
                    continue;
                }
            };
            let Some(event) = event else { return Err(Failure::internal("the session went away")) };
            match event.news {
                SessionNews::Dispatch { dispatch } if dispatch.id == self.dispatch => {
                    outcome.note(&dispatch);
                    if dispatch.state.is_over() {
                        return Ok(outcome);
                    }
                }
                SessionNews::Row { row } => outcome.add(&row),
                SessionNews::Live { live, .. } => self.show(&live),
                SessionNews::Asked { request } if self.asks == Ask::Person => {
                    ask_person(self.approvals.as_ref(), &request, self.printer).await;
                }
                _ => {}
            }
        }
    }

    fn show(&self, live: &TurnEvent) {
        if self.format == Format::Json {
            return;
        }
        match live {
            TurnEvent::TextDelta { text, .. } => self.printer.raw_now(text.as_bytes()),
            TurnEvent::CallStarted { tool, .. } => self.printer.note(&format!("· {}", one_line(tool, CALL_CHARS))),
            _ => {}
        }
    }
}
