//! One dispatch from its submission to its end, for clients that want the reply to what they said.

mod progress;

use crate::desk::Desk;
use crate::refusal::Refusal;
use dispatch_contracts::BoxFuture;
use dispatch_contracts::turn::TurnEnd;
use ext_conversation_store::contract::TurnLog;
use ext_session_orchestrator::contract::{
    DispatchId, DispatchState, DispatchView, SessionEvent, SessionEvents, SessionNews, SessionsError, Submission,
};
use futures_util::StreamExt;
use progress::Progress;
use std::collections::VecDeque;
use std::sync::Arc;

pub(crate) use progress::{Reply, rows_as_replies};

/// What a client learns.
#[derive(Debug)]
pub(crate) enum Update {
    /// A piece of the reply.
    Reply(Reply),
    /// It is over; nothing follows.
    Over(Box<Ended>),
}

/// How it ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) view: DispatchView,
    /// The turn that took it, if one did.
    pub(crate) log: Option<TurnLog>,
}

impl Ended {
    /// How the turn ended, if it has an end on record.
    pub(crate) fn turn_end(&self) -> Option<&TurnEnd> {
        self.log.as_ref().and_then(|log| log.turn.end.as_ref())
    }
}

/// A dispatch under way. Dropping it before its end takes the dispatch back.
pub(crate) struct Follow {
    desk: Arc<Desk>,
    pub(crate) dispatch: DispatchId,
    events: SessionEvents,
    ended: BoxFuture<'static, Result<DispatchView, SessionsError>>,
    progress: Progress,
    due: VecDeque<Update>,
    over: bool,
}

impl Follow {
    /// Submits, and listens from before that moment on, so that nothing is missed.
    pub(crate) async fn submit(desk: &Arc<Desk>, submission: Submission) -> Result<Self, Refusal> {
        let sessions = desk.sessions()?;
        let events = sessions.watch(&submission.session, None).await?;
        let receipt = sessions.submit(submission).await?;
        let dispatch = receipt.dispatch;
        let waited = dispatch.clone();
        let ended = Box::pin(async move { sessions.wait(&waited).await });
        Ok(Self {
            desk: Arc::clone(desk),
            progress: Progress::new(dispatch.clone()),
            dispatch,
            events,
            ended,
            due: VecDeque::new(),
            over: false,
        })
    }

    /// The next thing to learn. After the end there is nothing more.
    pub(crate) async fn next(&mut self) -> Result<Option<Update>, Refusal> {
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
        let lagged = event.news == SessionNews::Lagged;
        self.due.extend(self.progress.hear(event).into_iter().map(Update::Reply));
        if lagged {
            // Which turn took the dispatch may be among what was missed.
            let view = self.desk.sessions()?.dispatch(&self.dispatch).await?;
            self.progress.note(&view);
        }
        Ok(())
    }

    /// Storage has the last word: what live news left out is made up from there.
    async fn end(&mut self, view: DispatchView) -> Result<(), Refusal> {
        self.over = true;
        self.progress.note(&view);
        let log = match (&view.turn, self.desk.conversations()) {
            (Some(turn), Ok(conversations)) => conversations.turn(turn).await?,
            // Sessions that nobody stores have only their live news.
            _ => None,
        };
        for stored in log.iter().flat_map(|log| &log.rows) {
            self.due.extend(self.progress.store(&stored.row).into_iter().map(Update::Reply));
        }
        self.due.push_back(Update::Over(Box::new(Ended { view, log })));
        Ok(())
    }
}

impl Drop for Follow {
    fn drop(&mut self) {
        if !self.over {
            self.desk.abandon(self.dispatch.clone());
        }
    }
}

/// Why a dispatch that ended has no reply, in words for whoever waits for one.
pub(crate) fn failure(ended: &Ended) -> Option<Refusal> {
    let reason = &ended.view.reason;
    match ended.view.state {
        DispatchState::Done => {}
        DispatchState::Pending | DispatchState::Running => return None,
        DispatchState::Superseded => return Some(Refusal::conflict("a later message came before this one")),
        DispatchState::Cancelled => return Some(Refusal::conflict("the message was taken back")),
        DispatchState::Refused => return Some(Refusal::forbidden(format!("the message was not let in: {reason}"))),
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
