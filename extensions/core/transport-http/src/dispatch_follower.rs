//! Follows one dispatch from its submission to its end, for clients that wait for the reply.

mod progress;

use crate::refusal::Refusal;
use crate::services::TransportServices;
use dispatch_contracts::BoxFuture;
use dispatch_contracts::turn::TurnEnd;
use ext_conversation_store::contract::TurnLog;
use ext_session_orchestrator::contract::{
    DispatchId, DispatchState, DispatchView, SessionEvent, SessionEvents, SessionNews, SessionsError, Submission,
};
use futures_util::StreamExt;
use progress::DispatchProgress;
use std::collections::VecDeque;
use std::sync::Arc;

pub(crate) use progress::{ReplyEvent, rows_as_replies};

/// What happened to the dispatch.
#[derive(Debug)]
pub(crate) enum DispatchUpdate {
    /// A piece of the reply.
    Reply(ReplyEvent),
    /// It is over; nothing follows.
    Over(Box<EndedDispatch>),
}

/// How it ended.
#[derive(Debug)]
pub(crate) struct EndedDispatch {
    pub(crate) view: DispatchView,
    /// The turn that took it, if one did.
    pub(crate) log: Option<TurnLog>,
}

impl EndedDispatch {
    /// How the turn ended, if it has an end on record.
    pub(crate) fn turn_end(&self) -> Option<&TurnEnd> {
        self.log.as_ref().and_then(|log| log.turn.end.as_ref())
    }
}

/// A dispatch that has not ended. Dropping it cancels the dispatch.
pub(crate) struct DispatchFollower {
    services: Arc<TransportServices>,
    pub(crate) dispatch: DispatchId,
    events: SessionEvents,
    ended: BoxFuture<'static, Result<DispatchView, SessionsError>>,
    progress: DispatchProgress,
    due: VecDeque<DispatchUpdate>,
    over: bool,
}

impl DispatchFollower {
    /// Watches the session, then submits, so that nothing is missed.
    pub(crate) async fn submit(services: &Arc<TransportServices>, submission: Submission) -> Result<Self, Refusal> {
        let sessions = services.sessions()?;
        let events = sessions.watch(&submission.session, None).await?;
        let receipt = sessions.submit(submission).await?;
        let dispatch = receipt.dispatch;
        let waited = dispatch.clone();
        let ended = Box::pin(async move { sessions.wait(&waited).await });
        Ok(Self {
            services: Arc::clone(services),
            progress: DispatchProgress::new(dispatch.clone()),
            dispatch,
            events,
            ended,
            due: VecDeque::new(),
            over: false,
        })
    }

    /// The next update; `None` after the end.
    pub(crate) async fn next(&mut self) -> Result<Option<DispatchUpdate>, Refusal> {
        loop {
            if let Some(update) = self.due.pop_front() {
                return Ok(Some(update));
            }
            if self.over {
                return Ok(None);
            }
            tokio::select! {
                biased;
                Some(event) = self.events.next() => self.hear(event).await?,
                ended = &mut self.ended => self.end(ended?).await?,
            }
        }
    }

    async fn hear(&mut self, event: SessionEvent) -> Result<(), Refusal> {
        // Which turn took the dispatch is news of this process alone, and may be among what was missed.
        if event.news == SessionNews::Lagged || self.progress.is_unsure(&event.news) {
            let view = self.services.sessions()?.dispatch(&self.dispatch).await?;
            self.progress.note(&view);
        }
        self.due.extend(self.progress.hear(event).into_iter().map(DispatchUpdate::Reply));
        Ok(())
    }

    /// Storage is complete: what live news left out is taken from there.
    async fn end(&mut self, view: DispatchView) -> Result<(), Refusal> {
        self.over = true;
        self.progress.note(&view);
        let log = match (&view.turn, self.services.conversations()) {
            (Some(turn), Ok(conversations)) => conversations.turn(turn).await?,
            // Sessions that are not stored have only their live news.
            _ => None,
        };
        for stored in log.iter().flat_map(|log| &log.rows) {
            self.due.extend(self.progress.store(&stored.row).into_iter().map(DispatchUpdate::Reply));
        }
        self.due.push_back(DispatchUpdate::Over(Box::new(EndedDispatch { view, log })));
        Ok(())
    }
}

impl Drop for DispatchFollower {
    fn drop(&mut self) {
        if !self.over {
            self.services.abandon(self.dispatch.clone());
        }
    }
}

/// Why a dispatch that ended has no reply.
pub(crate) fn failure(ended: &EndedDispatch) -> Option<Refusal> {
    let reason = &ended.view.reason;
    match ended.view.state {
        DispatchState::Done => {}
        DispatchState::Pending | DispatchState::Running => return None,
        DispatchState::Superseded => return Some(Refusal::conflict("a later message replaced this one")),
        DispatchState::Cancelled => return Some(Refusal::conflict("the message was withdrawn")),
        DispatchState::Refused => return Some(Refusal::forbidden(format!("the message was refused: {reason}"))),
        DispatchState::Parked => {
            return Some(Refusal::busy(format!("the message could not be answered: {reason}")));
        }
    }
    match ended.turn_end()? {
        TurnEnd::Finished | TurnEnd::LimitReached { .. } => None,
        TurnEnd::Cancelled => Some(Refusal::conflict("the turn was cancelled")),
        TurnEnd::ProviderFailed { error } => {
            let said = Refusal::new(http::StatusCode::BAD_GATEWAY, "provider_failed", error.message.clone());
            Some(match error.retry_after_ms {
                Some(ms) => said.retry_after(ms),
                None => said,
            })
        }
        TurnEnd::StoreFailed { message } | TurnEnd::Faulted { message } => Some(Refusal::internal(message)),
    }
}
