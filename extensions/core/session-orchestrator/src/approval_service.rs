//! Open questions to people, in memory: a question lives no longer than the turn that asks it.

use crate::contract::{Answer, ApprovalError, ApprovalId, ApprovalRequest, Approvals, SessionNews};
use crate::session_feed::SessionFeed;
use dispatch_contracts::BoxFuture;
use futures_channel::oneshot;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The most answers that are remembered per session.
const MAX_REMEMBERED: usize = 1_000;

/// The service where questions lie until somebody answers.
pub(crate) struct ApprovalService {
    feed: Arc<SessionFeed>,
    open: Mutex<BTreeMap<ApprovalId, OpenQuestion>>,
    remembered: Mutex<BTreeMap<String, Vec<(String, String)>>>,
}

struct OpenQuestion {
    request: ApprovalRequest,
    reply: oneshot::Sender<Answer>,
}

impl ApprovalService {
    pub(crate) fn new(feed: Arc<SessionFeed>) -> Self {
        Self { feed, open: Mutex::default(), remembered: Mutex::default() }
    }

    fn waiting(&self) -> MutexGuard<'_, BTreeMap<ApprovalId, OpenQuestion>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn memory(&self) -> MutexGuard<'_, BTreeMap<String, Vec<(String, String)>>> {
        self.remembered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What people allowed for the rest of a session.
    pub(crate) fn remembered(&self, session: &str) -> Vec<(String, String)> {
        self.memory().get(session).cloned().unwrap_or_default()
    }

    /// Asks and waits. Dropping the future withdraws the question.
    pub(crate) async fn ask(&self, request: ApprovalRequest) -> Answer {
        let (reply, answered) = oneshot::channel();
        let (session, id) = (request.session.clone(), request.id.clone());
        self.waiting().insert(id.clone(), OpenQuestion { request: request.clone(), reply });
        let _withdraw = WithdrawOnDrop { service: self, session: session.clone(), id };
        self.feed.news(&session, SessionNews::Asked { request: request.clone() });
        let nobody = Answer::Deny { reason: Some("The question was withdrawn.".to_owned()) };
        let answer = answered.await.unwrap_or(nobody);
        if answer == Answer::Session {
            let mut memory = self.memory();
            let known = memory.entry(session).or_default();
            if known.len() < MAX_REMEMBERED {
                known.extend(request.targets.into_iter().map(|target| (request.call.name.clone(), target)));
            }
        }
        answer
    }
}

/// Takes the question off the service, however the asking ends.
struct WithdrawOnDrop<'a> {
    service: &'a ApprovalService,
    session: String,
    id: ApprovalId,
}

impl Drop for WithdrawOnDrop<'_> {
    fn drop(&mut self) {
        self.service.waiting().remove(&self.id);
        self.service.feed.news(&self.session, SessionNews::Settled { id: self.id.clone() });
    }
}

impl Approvals for ApprovalService {
    fn open(&self, session: Option<&str>) -> Vec<ApprovalRequest> {
        let open = self.waiting();
        let wanted = open.values().filter(|waiting| session.is_none_or(|label| waiting.request.session == label));
        let mut requests: Vec<ApprovalRequest> = wanted.map(|waiting| waiting.request.clone()).collect();
        requests.sort_by_key(|request| request.at_ms);
        requests
    }

    fn answer<'a>(&'a self, id: &'a ApprovalId, answer: Answer) -> BoxFuture<'a, Result<(), ApprovalError>> {
        let waiting = self.waiting().remove(id);
        let taken = waiting.is_some_and(|waiting| waiting.reply.send(answer).is_ok());
        let outcome = if taken { Ok(()) } else { Err(ApprovalError::NotOpen(id.clone())) };
        Box::pin(std::future::ready(outcome))
    }
}
