//! The session queue as a service: takes input in, answers what became of it, lets sessions be watched.

use crate::contract::{
    CancelOutcome, DispatchId, DispatchView, MESSAGE_RECEIVED, MessageReceived, Receipt, SessionEvents, Sessions,
    SessionsError, Submission,
};
use crate::inputs::check;
use crate::queue_store::Admission;
use crate::redaction::{clean, redactor_with};
use crate::turn_scheduler::TurnScheduler;
use crate::watching::{follow, wait};
use dispatch_contracts::BoxFuture;
use dispatch_contracts::host::Host;
use dispatch_contracts::ids::SessionId;
use dispatch_redact::Redactor;
use std::sync::Arc;

/// What senders call.
pub(crate) struct SessionService {
    pub(crate) scheduler: Arc<TurnScheduler>,
    pub(crate) host: Host,
    pub(crate) redactor: Arc<Redactor>,
}

impl SessionService {
    async fn take_in(&self, mut submission: Submission) -> Result<Receipt, SessionsError> {
        if self.scheduler.is_draining() {
            return Err(SessionsError::Draining);
        }
        check(&submission)?;
        clean(&self.redactor, &mut submission.text);
        if !submission.secret_patterns.is_empty() {
            let wrong = |error: dispatch_redact::RedactError| SessionsError::Invalid(error.to_string());
            let own = redactor_with(&self.host.settings(), &submission.secret_patterns).map_err(wrong)?;
            clean(&own, &mut submission.text);
        }
        let (label, mode) = (submission.session.clone(), submission.mode);
        let admission = Admission {
            id: DispatchId::new(self.scheduler.next_id()),
            session: SessionId::new(self.scheduler.next_id()),
            submission,
            now_ms: self.scheduler.now_ms(),
            claimant: self.scheduler.claimant(),
        };
        let admitted = self.scheduler.store.admit(admission).await?;
        let receipt =
            Receipt { dispatch: admitted.view.id.clone(), session: admitted.session.clone(), fresh: admitted.fresh };
        if !admitted.fresh {
            return Ok(receipt);
        }
        if mode == crate::contract::Mode::Interrupt {
            self.scheduler.stop(&admitted.session);
        }
        self.scheduler.tell_dispatches(admitted.superseded.into_iter().chain([admitted.view]));
        match admitted.lease {
            Some(lease) => self.scheduler.start(lease),
            None => self.scheduler.wake(),
        }
        let received = MessageReceived { session: admitted.session, label, dispatch: receipt.dispatch.clone(), mode };
        // Whoever listens hears it; input is taken in whether or not anybody can be told.
        let _ = self.host.emit(&MESSAGE_RECEIVED, received);
        Ok(receipt)
    }

    async fn take_back(&self, id: &DispatchId) -> Result<CancelOutcome, SessionsError> {
        let (outcome, view) = self.scheduler.store.cancel(id, self.scheduler.now_ms()).await?;
        if outcome == CancelOutcome::Stopping {
            self.scheduler.stop_label(&view.session);
        }
        self.scheduler.tell_dispatches([view]);
        Ok(outcome)
    }
}

impl Sessions for SessionService {
    fn submit(&self, submission: Submission) -> BoxFuture<'_, Result<Receipt, SessionsError>> {
        Box::pin(self.take_in(submission))
    }

    fn dispatch<'a>(&'a self, id: &'a DispatchId) -> BoxFuture<'a, Result<DispatchView, SessionsError>> {
        Box::pin(self.scheduler.store.dispatch(id))
    }

    fn wait<'a>(&'a self, id: &'a DispatchId) -> BoxFuture<'a, Result<DispatchView, SessionsError>> {
        Box::pin(wait(Arc::clone(&self.scheduler), id))
    }

    fn cancel<'a>(&'a self, id: &'a DispatchId) -> BoxFuture<'a, Result<CancelOutcome, SessionsError>> {
        Box::pin(self.take_back(id))
    }

    fn queue<'a>(&'a self, session: Option<&'a str>) -> BoxFuture<'a, Result<Vec<DispatchView>, SessionsError>> {
        Box::pin(self.scheduler.store.queue(session))
    }

    fn watch<'a>(
        &'a self,
        session: &'a str,
        after: Option<u64>,
    ) -> BoxFuture<'a, Result<SessionEvents, SessionsError>> {
        Box::pin(follow(Arc::clone(&self.scheduler), session, after))
    }

    fn drain(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.scheduler.drain())
    }
}
