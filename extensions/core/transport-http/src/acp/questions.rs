//! What people are asked in the sessions that an editor has open, whichever process asks.

use super::rpc::RpcPeer;
use super::tool;
use crate::services::TransportServices;
use dispatch_contracts::ports::Level;
use dispatch_os::environment::user_name;
use ext_session_orchestrator::contract::{
    Answer, Answerer, ApprovalError, ApprovalId, ApprovalRequest, DispatchId, SessionNews,
};
use futures_util::StreamExt;
use serde_json::{Map, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::task::AbortHandle;

/// Asks the editor, each question once.
pub(super) struct EditorQuestions {
    services: Arc<TransportServices>,
    peer: Arc<RpcPeer>,
    put: Mutex<BTreeSet<ApprovalId>>,
    /// The editor's own prompts: nobody else is asked about them, so no answer is a no.
    prompts: Mutex<BTreeSet<DispatchId>>,
}

/// Follows a session until it is dropped.
#[derive(Debug)]
pub(super) struct QuestionWatch(AbortHandle);

impl Drop for QuestionWatch {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl EditorQuestions {
    pub(super) fn new(services: Arc<TransportServices>, peer: Arc<RpcPeer>) -> Self {
        Self { services, peer, put: Mutex::default(), prompts: Mutex::default() }
    }

    /// Notes a prompt of the editor's own.
    pub(super) fn note_prompt(&self, dispatch: &DispatchId) {
        lock(&self.prompts).insert(dispatch.clone());
    }

    /// Asks what is asked in a session from now on, and what is open.
    pub(super) fn watch(self: &Arc<Self>, label: String, cwd: PathBuf) -> QuestionWatch {
        let this = Arc::clone(self);
        let follow = async move {
            let Ok(sessions) = this.services.sessions() else { return };
            // A session that cannot be followed now is followed by the next prompt.
            let Ok(mut news) = sessions.watch(&label, None).await else { return };
            while let Some(event) = news.next().await {
                if let SessionNews::Asked { request } = event.news {
                    this.put(request, &cwd);
                }
            }
        };
        QuestionWatch(tokio::spawn(follow).abort_handle())
    }

    /// Asks the editor about a call, concurrently: updates continue meanwhile.
    pub(super) fn put(self: &Arc<Self>, request: ApprovalRequest, cwd: &Path) {
        if !lock(&self.put).insert(request.id.clone()) {
            return;
        }
        let (this, cwd) = (Arc::clone(self), cwd.to_owned());
        tokio::spawn(async move { this.ask(&request, &cwd).await });
    }

    async fn ask(&self, request: &ApprovalRequest, cwd: &Path) {
        let reasons: Vec<&str> = request.questions.iter().map(|question| question.reason.as_str()).collect();
        let mut fields = tool::describe(&request.call, cwd);
        fields.insert("status".to_owned(), "pending".into());
        let params = json!({
            "sessionId": request.session,
            "toolCall": fields,
            "options": [
                {"optionId": "once", "name": "Allow once", "kind": "allow_once"},
                {"optionId": "always", "name": always(request), "kind": "allow_always"},
                {"optionId": "deny", "name": "Deny", "kind": "reject_once"},
            ],
            "_meta": {"questions": reasons},
        });
        let chosen = self.peer.ask("session/request_permission", params).await;
        let answer = match chosen.as_ref().and_then(|value| value.pointer("/outcome/optionId")?.as_str()) {
            Some("once") => Answer::Allow { remember: false },
            Some("always") => Answer::Allow { remember: true },
            Some(_) => Answer::Deny { reason: None },
            None if lock(&self.prompts).contains(&request.dispatch) => Answer::Deny { reason: None },
            // The editor is gone or does not want to say; the turn is somebody else's, who may.
            None => return,
        };
        let Ok(approvals) = self.services.approvals() else { return };
        let by = Answerer { who: user_name(), from: "acp".to_owned() };
        match approvals.answer(&request.id, answer, by).await {
            // Another client may have answered first, or the turn was stopped.
            Ok(()) | Err(ApprovalError::NotOpen(_)) => {}
            Err(error) => self.services.log(Level::Warn, &error.to_string(), Map::new()),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What allowing for good would mean.
fn always(request: &ApprovalRequest) -> String {
    match request.remember.as_slice() {
        [] => "Allow once; nothing can be remembered of it".to_owned(),
        forms => format!("Always allow `{}` in this project", forms.join("`, `")),
    }
}
