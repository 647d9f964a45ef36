//! The session queue as a service: takes input in, answers what became of it, lets sessions be watched.

use crate::contract::{
    CancelOutcome, DispatchId, DispatchState, DispatchView, MESSAGE_RECEIVED, MessageReceived, Mode, Receipt,
    SessionEvents, Sessions, SessionsError, Submission,
};
use crate::inputs::{check, unknown_dispatch};
use crate::persona_checks::PersonaChecks;
use crate::queue_store::Admission;
use crate::redaction::{clean, redactor_with};
use crate::scope::wait_reasons;
use crate::turn_runner::real_folder;
use crate::turn_scheduler::TurnScheduler;
use crate::watching::{follow, wait};
use dispatch_contracts::BoxFuture;
use dispatch_contracts::host::Host;
use dispatch_contracts::ids::SessionId;
use dispatch_kernel::host::HostHandle;
use dispatch_os::paths::find_project_root;
use dispatch_redact::Redactor;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What senders call.
pub(crate) struct SessionService {
    pub(crate) scheduler: Arc<TurnScheduler>,
    pub(crate) host: Host,
    pub(crate) kernel: Arc<HostHandle>,
    pub(crate) redactor: Arc<Redactor>,
    pub(crate) personas: Arc<PersonaChecks>,
}

impl SessionService {
    async fn take_in(&self, mut submission: Submission) -> Result<Receipt, SessionsError> {
        // What a message belongs to is known when all extensions are there.
        self.kernel.started().await;
        if self.scheduler.is_draining() {
            return Err(SessionsError::Draining);
        }
        check(&submission)?;
        self.personas.check(submission.persona.as_deref())?;
        clean(&self.redactor, &mut submission.text);
        submission.system.iter_mut().for_each(|section| clean(&self.redactor, section));
        if !submission.secret_patterns.is_empty() {
            let wrong = |error: dispatch_redact::RedactError| SessionsError::Invalid(error.to_string());
            let own = redactor_with(&self.host.settings(), &submission.secret_patterns).map_err(wrong)?;
            clean(&own, &mut submission.text);
            submission.system.iter_mut().for_each(|section| clean(&own, section));
        }
        let scope = self.scheduler.dispatch_scope();
        submission.workdir = Some(match submission.workdir.take() {
            Some(folder) => self.existing(&folder)?,
            None => scope.workspace.clone(),
        });
        let (label, mode) = (submission.session.clone(), submission.mode);
        let admission = Admission {
            id: submission.dispatch.clone().unwrap_or_else(|| DispatchId::new(self.scheduler.next_id())),
            session: SessionId::new(self.scheduler.next_id()),
            submission,
            scope,
            now_ms: self.scheduler.now_ms(),
            claimant: self.scheduler.starter(),
        };
        let admitted = self.scheduler.store.admit(admission).await?;
        let receipt = Receipt {
            dispatch: admitted.view.id.clone(),
            session: admitted.session.clone(),
            fresh: admitted.fresh,
            mode: if admitted.steer_obstacle.is_some() { Mode::Followup } else { admitted.view.mode },
            note: admitted.steer_obstacle.map(|why| format!("it becomes a turn of its own: {why}")),
        };
        if !admitted.fresh {
            return Ok(receipt);
        }
        if admitted.stops_turn {
            self.scheduler.stop(&admitted.session);
        }
        self.scheduler.tell_dispatches(admitted.superseded.into_iter().chain([admitted.view]));
        match admitted.lease {
            Some(lease) => self.scheduler.start(lease, admitted.begun),
            None => self.scheduler.wake(),
        }
        let received = MessageReceived { session: admitted.session, label, dispatch: receipt.dispatch.clone(), mode };
        // Whoever listens hears it; input is taken in whether or not anybody can be told.
        let _ = self.host.emit(&MESSAGE_RECEIVED, received);
        Ok(receipt)
    }

    /// The folder that a sender names, without links in its path.
    fn existing(&self, folder: &Path) -> Result<PathBuf, SessionsError> {
        let folder = real_folder(folder);
        if (self.scheduler.folder_exists())(&folder) {
            return Ok(folder);
        }
        Err(SessionsError::Invalid(format!("the folder {} does not exist", folder.display())))
    }

    /// Adds why messages wait that no process can take.
    async fn explained(
        &self,
        mut views: Vec<DispatchView>,
        session: Option<&str>,
    ) -> Result<Vec<DispatchView>, SessionsError> {
        if views.iter().any(|view| view.state == DispatchState::Pending) {
            let waiting = self.scheduler.store.waiting(session).await?;
            let reasons = wait_reasons(&waiting, self.scheduler.now_ms(), &self.scheduler.runner_scope());
            for view in views.iter_mut().filter(|view| view.reason.is_empty()) {
                view.reason = reasons.get(&view.id).map(ToString::to_string).unwrap_or_default();
            }
        }
        Ok(views)
    }

    async fn view(&self, id: &DispatchId) -> Result<DispatchView, SessionsError> {
        let view = self.scheduler.store.dispatch(id).await?;
        let session = view.session.clone();
        let explained = self.explained(vec![view], Some(&session)).await?;
        explained.into_iter().next().ok_or_else(|| unknown_dispatch(id))
    }

    async fn send_elsewhere(&self, id: &DispatchId, folder: &Path) -> Result<DispatchView, SessionsError> {
        let folder = self.existing(folder)?;
        let workspace = find_project_root(&folder).map_or_else(|| folder.clone(), |root| real_folder(&root.path));
        let moved = self.scheduler.store.relocate(id, folder, workspace, self.scheduler.now_ms()).await?;
        self.scheduler.tell_dispatches([moved.clone()]);
        self.scheduler.wake();
        Ok(moved)
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
        Box::pin(self.view(id))
    }

    fn wait<'a>(&'a self, id: &'a DispatchId) -> BoxFuture<'a, Result<DispatchView, SessionsError>> {
        Box::pin(wait(Arc::clone(&self.scheduler), id))
    }

    fn cancel<'a>(&'a self, id: &'a DispatchId) -> BoxFuture<'a, Result<CancelOutcome, SessionsError>> {
        Box::pin(self.take_back(id))
    }

    fn relocate<'a>(
        &'a self,
        id: &'a DispatchId,
        folder: &'a Path,
    ) -> BoxFuture<'a, Result<DispatchView, SessionsError>> {
        Box::pin(self.send_elsewhere(id, folder))
    }

    fn retry<'a>(&'a self, id: &'a DispatchId) -> BoxFuture<'a, Result<DispatchView, SessionsError>> {
        Box::pin(async move {
            let again = self.scheduler.store.retry(id, self.scheduler.now_ms()).await?;
            self.scheduler.tell_dispatches([again.clone()]);
            self.scheduler.wake();
            Ok(again)
        })
    }

    fn parked(&self) -> BoxFuture<'_, Result<Vec<DispatchView>, SessionsError>> {
        Box::pin(self.scheduler.store.parked())
    }

    fn queue<'a>(&'a self, session: Option<&'a str>) -> BoxFuture<'a, Result<Vec<DispatchView>, SessionsError>> {
        Box::pin(async move { self.explained(self.scheduler.store.queue(session).await?, session).await })
    }

    fn watch<'a>(
        &'a self,
        session: &'a str,
        after: Option<u64>,
    ) -> BoxFuture<'a, Result<SessionEvents, SessionsError>> {
        Box::pin(follow(Arc::clone(&self.scheduler), session, after))
    }

    fn now_ms(&self) -> u64 {
        self.scheduler.now_ms()
    }

    fn drain(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.scheduler.drain())
    }
}
