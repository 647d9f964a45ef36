//! Questions to people: stored, told to whoever watches, and answered once, from any process on the same storage.

use crate::contract::{
    Answer, Answerer, ApprovalError, ApprovalId, ApprovalRecord, ApprovalRequest, ApprovalState, Approvals,
    PermissionGrant, SessionNews,
};
use crate::queue_store::{QuestionStanding, QueueStore};
use crate::session_feed::SessionFeed;
use dispatch_contracts::BoxFuture;
use dispatch_contracts::ids::SessionId;
use dispatch_contracts::ports::{Clock, Ids};
use futures_util::StreamExt;
use futures_util::future::select;
use std::path::Path;
use std::sync::Arc;

/// How often an asker looks for an answer that another process took.
const LOOK_MS: u64 = 200;
/// What the model is told when the question did not outlive its turn.
const WITHDRAWN: &str = "The question was withdrawn.";

/// What questions need from outside.
pub(crate) struct ApprovalPorts {
    /// The clock of the storage: deadlines are compared by other machines too.
    pub(crate) clock: Arc<dyn Clock>,
    /// Whether nobody but an agent can be at the other end of this process.
    pub(crate) is_below_agent: bool,
    pub(crate) ids: Arc<dyn Ids>,
    pub(crate) spawn: Arc<dyn Fn(BoxFuture<'static, ()>) + Send + Sync>,
}

/// The service where questions wait until somebody answers.
pub(crate) struct ApprovalService {
    store: Arc<QueueStore>,
    feed: Arc<SessionFeed>,
    ports: ApprovalPorts,
}

impl ApprovalService {
    pub(crate) fn new(store: Arc<QueueStore>, feed: Arc<SessionFeed>, ports: ApprovalPorts) -> Self {
        Self { store, feed, ports }
    }

    /// The moment by the clock that deadlines are kept by.
    pub(crate) fn now_ms(&self) -> u64 {
        self.ports.clock.now_ms()
    }

    /// Asks and waits until somebody answers or time is up; gives why the call must not run. Dropping the future
    /// withdraws the question.
    pub(crate) async fn ask(&self, session: &SessionId, request: ApprovalRequest) -> Result<(), String> {
        if let Err(error) = self.store.ask(session.as_str(), &request).await {
            return Err(format!("The question could not be stored: {error}"));
        }
        let mut open = OpenQuestion { service: self, label: &request.session, id: &request.id, is_settled: false };
        self.feed.news(&request.session, SessionNews::Asked { request: request.clone() });
        let mut woken = self.feed.questions.listen();
        loop {
            // What cannot be read now is read at the next look.
            if let Ok(QuestionStanding::Settled(answer)) = self.store.question(&request.id).await {
                open.is_settled = true;
                return answer;
            }
            let now_ms = self.ports.clock.now_ms();
            if now_ms >= request.expires_at_ms {
                let reason = format!(
                    "Nobody answered within {} s.",
                    request.expires_at_ms.saturating_sub(request.at_ms) / 1_000
                );
                let ended = self.store.end_question(&request.id, ApprovalState::Expired, &reason, now_ms).await;
                if ended == Ok(true) {
                    open.is_settled = true;
                    return Err(reason);
                }
            }
            select(woken.next(), self.ports.clock.sleep_ms(LOOK_MS)).await;
        }
    }
}

/// Takes the question back, however the asking ends.
struct OpenQuestion<'a> {
    service: &'a ApprovalService,
    label: &'a str,
    id: &'a ApprovalId,
    is_settled: bool,
}

impl Drop for OpenQuestion<'_> {
    fn drop(&mut self) {
        let ApprovalService { store, feed, ports, .. } = self.service;
        feed.news(self.label, SessionNews::Settled { id: self.id.clone() });
        if !self.is_settled {
            let (store, id, now_ms) = (Arc::clone(store), self.id.clone(), ports.clock.now_ms());
            (ports.spawn)(Box::pin(async move {
                // A question whose turn is over is not open any more, whatever its row says.
                let _ = store.end_question(&id, ApprovalState::Withdrawn, WITHDRAWN, now_ms).await;
            }));
        }
    }
}

impl Approvals for ApprovalService {
    fn open<'a>(&'a self, session: Option<&'a str>) -> BoxFuture<'a, Result<Vec<ApprovalRequest>, ApprovalError>> {
        Box::pin(async move { Ok(self.store.open_questions(session, self.ports.clock.now_ms()).await?) })
    }

    fn recent(&self, limit: u32) -> BoxFuture<'_, Result<Vec<ApprovalRecord>, ApprovalError>> {
        Box::pin(async move { Ok(self.store.recent_questions(limit).await?) })
    }

    fn answer<'a>(
        &'a self,
        id: &'a ApprovalId,
        answer: Answer,
        by: Answerer,
    ) -> BoxFuture<'a, Result<(), ApprovalError>> {
        Box::pin(async move {
            if self.ports.is_below_agent {
                return Err(ApprovalError::NotAPerson);
            }
            let now_ms = self.ports.clock.now_ms();
            let asked = self.store.answer_question(id, answer, by, self.ports.ids.next_id(), now_ms).await?;
            self.feed.questions.wake();
            self.feed.news(&asked.session, SessionNews::Settled { id: asked.id.clone() });
            Ok(())
        })
    }

    fn grants<'a>(&'a self, workspace: Option<&'a Path>) -> BoxFuture<'a, Result<Vec<PermissionGrant>, ApprovalError>> {
        Box::pin(async move { Ok(self.store.grants(workspace).await?) })
    }

    fn revoke<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<PermissionGrant, ApprovalError>> {
        Box::pin(self.store.revoke(id))
    }
}
