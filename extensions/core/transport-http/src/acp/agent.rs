//! The agent's side of the protocol: sessions, modes, prompts and questions.

use super::prompt::{Block, compose};
use super::replay::Teller;
use super::rpc::{Peer, RpcError, typed};
use super::tool;
use crate::desk::Desk;
use crate::follow::{Ended, Follow, Reply, Update, failure, rows_as_replies};
use crate::openai::finish_reason;
use dispatch_contracts::conversation::Role;
use dispatch_contracts::turn::{Limit, TurnEnd};
use dispatch_os::time::rfc3339;
use ext_conversation_store::contract::{ConversationError, Session, SessionFilter};
use ext_session_orchestrator::contract::{Answer, ApprovalRequest, Ask, DispatchId, DispatchState, Submission};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

const PROTOCOL_VERSION: u16 = 1;
/// How many sessions one answer lists.
const PAGE: u32 = 50;

/// Serves one client.
pub(super) struct Agent {
    desk: Arc<Desk>,
    peer: Arc<Peer>,
    open: Mutex<BTreeMap<String, Open>>,
}

/// A session that the client has open.
#[derive(Clone, Debug, Default)]
struct Open {
    cwd: PathBuf,
    mode: ModeName,
    prompt: Option<Running>,
}

/// A prompt that runs, or is about to.
#[derive(Clone, Debug, Default)]
struct Running {
    dispatch: Option<DispatchId>,
    is_cancelled: bool,
}

/// Who answers questions, as the client names it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ModeName {
    #[default]
    Ask,
    Allow,
    Deny,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct NewSession {
    cwd: PathBuf,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OpenSession {
    session_id: String,
    cwd: PathBuf,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OfSession {
    session_id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SetMode {
    session_id: String,
    mode_id: ModeName,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ListSessions {
    #[serde(default)]
    cwd: Option<PathBuf>,
    #[serde(default)]
    cursor: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PromptParams {
    session_id: String,
    prompt: Vec<Block>,
}

/// A prompt that was taken in.
pub(super) struct Prompt {
    session: String,
    cwd: PathBuf,
    submission: Submission,
}

impl Agent {
    pub(super) fn new(desk: Arc<Desk>, peer: Arc<Peer>) -> Self {
        Self { desk, peer, open: Mutex::default() }
    }

    /// Answers every request but a prompt.
    pub(super) async fn answer(&self, method: &str, params: Value) -> Result<Value, RpcError> {
        match method {
            "initialize" => Ok(capabilities()),
            "authenticate" | "logout" => Ok(json!({})),
            "session/new" => self.new_session(typed(params)?),
            "session/load" => {
                let wanted: OpenSession = typed(params)?;
                self.open_existing(&wanted).await?;
                self.replay(&wanted).await?;
                Ok(json!({"modes": modes(ModeName::default())}))
            }
            "session/resume" => {
                self.open_existing(&typed(params)?).await?;
                Ok(json!({"modes": modes(ModeName::default())}))
            }
            "session/list" => self.list(typed(params)?).await,
            "session/delete" => {
                let OfSession { session_id } = typed(params)?;
                self.close(&session_id).await;
                self.desk.conversations()?.delete(&session_id).await.map_err(refused)?;
                Ok(json!({}))
            }
            "session/close" => {
                let OfSession { session_id } = typed(params)?;
                self.close(&session_id).await;
                Ok(json!({}))
            }
            "session/set_mode" => self.set_mode(typed(params)?).await,
            other => Err(RpcError::no_method(other)),
        }
    }

    /// Takes a word that wants no answer.
    pub(super) async fn notified(&self, method: &str, params: Value) {
        if method == "session/cancel"
            && let Ok(OfSession { session_id }) = typed(params)
        {
            self.cancel(&session_id).await;
        }
    }

    /// Stops every prompt; the client is gone.
    pub(super) async fn stop_all(&self) {
        let labels: Vec<String> = self.open().keys().cloned().collect();
        for label in labels {
            self.cancel(&label).await;
        }
    }

    /// Takes a prompt in: from here on a cancellation finds it.
    pub(super) fn begin_prompt(&self, params: Value) -> Result<Prompt, RpcError> {
        let PromptParams { session_id, prompt } = typed(params)?;
        let (text, images) = compose(prompt)?;
        let mut all = self.open();
        let open = all.get_mut(&session_id).ok_or_else(|| unknown(&session_id))?;
        if open.prompt.is_some() {
            return Err(RpcError::invalid("the session has a prompt that still runs; cancel it first"));
        }
        open.prompt = Some(Running::default());
        let submission = Submission {
            session: session_id.clone(),
            text,
            images,
            source: "acp".to_owned(),
            ask: open.mode.ask(),
            workdir: Some(open.cwd.clone()),
            ..Submission::default()
        };
        Ok(Prompt { session: session_id, cwd: open.cwd.clone(), submission })
    }

    /// Runs a prompt to its end, with updates on the way.
    pub(super) async fn run_prompt(&self, prompt: Prompt) -> Result<Value, RpcError> {
        let outcome = self.follow(&prompt).await;
        if let Some(open) = self.open().get_mut(&prompt.session) {
            open.prompt = None;
        }
        outcome
    }

    async fn follow(&self, prompt: &Prompt) -> Result<Value, RpcError> {
        let mut follow = Follow::submit(&self.desk, prompt.submission.clone()).await?;
        if self.note_dispatch(&prompt.session, &follow.dispatch) {
            self.desk
                .sessions()?
                .cancel(&follow.dispatch)
                .await
                .map_err(|error| RpcError::internal(error.to_string()))?;
        }
        let mut teller = Teller::new(prompt.cwd.clone());
        loop {
            match follow.next().await? {
                Some(Update::Reply(Reply::Asked(request))) => self.put_question(*request, prompt.cwd.clone()),
                Some(Update::Reply(reply)) => {
                    if let Some(update) = teller.tell(Role::Assistant, &reply) {
                        self.update(&prompt.session, update).await;
                    }
                }
                Some(Update::Over(ended)) => return self.stopped(&ended),
                None => return Err(RpcError::internal("the prompt ended without an end")),
            }
        }
    }

    fn stopped(&self, ended: &Ended) -> Result<Value, RpcError> {
        if let Some(reason) = stop_reason(ended) {
            return Ok(json!({"stopReason": reason}));
        }
        let refusal = failure(ended).unwrap_or_else(|| crate::refusal::Refusal::internal("a turn has no end"));
        self.desk.note(&refusal);
        Err(RpcError::internal(refusal.message))
    }

    /// Asks the client about a call, beside everything else: updates go on meanwhile.
    fn put_question(&self, request: ApprovalRequest, cwd: PathBuf) {
        let (desk, peer) = (Arc::clone(&self.desk), Arc::clone(&self.peer));
        tokio::spawn(async move {
            let reasons: Vec<&str> = request.questions.iter().map(|question| question.reason.as_str()).collect();
            let mut fields = tool::describe(&request.call, &cwd);
            fields.insert("status".to_owned(), "pending".into());
            let params = json!({
                "sessionId": request.session,
                "toolCall": fields,
                "options": [
                    {"optionId": "once", "name": "Allow once", "kind": "allow_once"},
                    {"optionId": "session", "name": "Allow for this session", "kind": "allow_always"},
                    {"optionId": "deny", "name": "Deny", "kind": "reject_once"},
                ],
                "_meta": {"questions": reasons},
            });
            let chosen = peer.ask("session/request_permission", params).await;
            let answer = match chosen.as_ref().and_then(|value| value.pointer("/outcome/optionId")?.as_str()) {
                Some("once") => Answer::Once,
                Some("session") => Answer::Session,
                _ => Answer::Deny { reason: None },
            };
            if let Ok(approvals) = desk.approvals() {
                // Somebody else may have been faster, or the turn was stopped.
                let _ = approvals.answer(&request.id, answer).await;
            }
        });
    }

    fn new_session(&self, wanted: NewSession) -> Result<Value, RpcError> {
        let cwd = absolute(wanted.cwd)?;
        let label = format!("acp-{}", self.desk.fresh_id());
        self.open().insert(label.clone(), Open { cwd, ..Open::default() });
        Ok(json!({"sessionId": label, "modes": modes(ModeName::default())}))
    }

    async fn open_existing(&self, wanted: &OpenSession) -> Result<(), RpcError> {
        let cwd = absolute(wanted.cwd.clone())?;
        let found = self.desk.conversations()?.session(&wanted.session_id).await.map_err(refused)?;
        let known = found.is_some() || self.open().contains_key(&wanted.session_id);
        if !known {
            return Err(unknown(&wanted.session_id));
        }
        let mut all = self.open();
        let open = all.entry(wanted.session_id.clone()).or_default();
        open.cwd = cwd;
        Ok(())
    }

    async fn replay(&self, wanted: &OpenSession) -> Result<(), RpcError> {
        let history = match self.desk.conversations()?.history(&wanted.session_id).await {
            Ok(history) => history,
            Err(ConversationError::NoSession { .. }) => return Ok(()),
            Err(error) => return Err(refused(error)),
        };
        let mut teller = Teller::new(wanted.cwd.clone());
        for (role, reply) in rows_as_replies(&history.rows) {
            if let Some(update) = teller.tell(role, &reply) {
                self.update(&wanted.session_id, update).await;
            }
        }
        Ok(())
    }

    async fn list(&self, wanted: ListSessions) -> Result<Value, RpcError> {
        let before = match &wanted.cursor {
            Some(cursor) => Some(cursor.parse().map_err(|_| RpcError::params("`cursor` is none of ours"))?),
            None => None,
        };
        let filter = SessionFilter { updated_before_ms: before, limit: PAGE, ..SessionFilter::default() };
        let found = self.desk.conversations()?.sessions(filter).await.map_err(refused)?;
        let elsewhere = wanted.cwd.unwrap_or_else(|| self.desk.folders().workdir);
        let open = self.open();
        let described = found.iter().map(|session| {
            let cwd = open.get(&session.label).map_or(&elsewhere, |open| &open.cwd);
            info(session, &cwd.to_string_lossy())
        });
        let mut listed = json!({"sessions": described.collect::<Vec<_>>()});
        if let Some(last) = found.last().filter(|_| found.len() == PAGE as usize) {
            listed["nextCursor"] = last.updated_at_ms.to_string().into();
        }
        Ok(listed)
    }

    async fn set_mode(&self, wanted: SetMode) -> Result<Value, RpcError> {
        self.open().get_mut(&wanted.session_id).ok_or_else(|| unknown(&wanted.session_id))?.mode = wanted.mode_id;
        let update = json!({"sessionUpdate": "current_mode_update", "currentModeId": wanted.mode_id.word()});
        self.update(&wanted.session_id, update).await;
        Ok(json!({}))
    }

    async fn close(&self, label: &str) {
        self.cancel(label).await;
        self.open().remove(label);
    }

    async fn cancel(&self, label: &str) {
        let dispatch = {
            let mut all = self.open();
            let Some(running) = all.get_mut(label).and_then(|open| open.prompt.as_mut()) else { return };
            running.is_cancelled = true;
            running.dispatch.clone()
        };
        if let (Some(dispatch), Ok(sessions)) = (dispatch, self.desk.sessions()) {
            // One that is over needs no cancelling.
            let _ = sessions.cancel(&dispatch).await;
        }
    }

    /// Notes which dispatch a prompt became; says whether it was cancelled before that.
    fn note_dispatch(&self, label: &str, dispatch: &DispatchId) -> bool {
        let mut all = self.open();
        let Some(running) = all.get_mut(label).and_then(|open| open.prompt.as_mut()) else { return true };
        running.dispatch = Some(dispatch.clone());
        running.is_cancelled
    }

    async fn update(&self, label: &str, update: Value) {
        self.peer.notify("session/update", json!({"sessionId": label, "update": update})).await;
    }

    fn open(&self) -> MutexGuard<'_, BTreeMap<String, Open>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ModeName {
    fn ask(self) -> Ask {
        match self {
            Self::Ask => Ask::Person,
            Self::Allow => Ask::All,
            Self::Deny => Ask::None,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::Allow => "allow",
            Self::Deny => "deny",
        }
    }
}

fn capabilities() -> Value {
    json!({
        "protocolVersion": PROTOCOL_VERSION,
        "agentCapabilities": {
            "loadSession": true,
            "promptCapabilities": {"image": true, "audio": false, "embeddedContext": true},
            "mcpCapabilities": {"http": false, "sse": false},
            "sessionCapabilities": {"list": {}, "delete": {}, "resume": {}, "close": {}},
        },
        "agentInfo": {"name": "dispatch", "title": "Dispatch", "version": env!("CARGO_PKG_VERSION")},
        "authMethods": [],
    })
}

fn modes(current: ModeName) -> Value {
    json!({
        "currentModeId": current.word(),
        "availableModes": [
            {"id": "ask", "name": "Ask", "description": "You are asked where the rules want a person's word."},
            {"id": "allow", "name": "Allow", "description": "Every question is a yes; what rules refuse stays refused."},
            {"id": "deny", "name": "Deny", "description": "Every question is a no."},
        ],
    })
}

fn info(session: &Session, cwd: &str) -> Value {
    let updated = i64::try_from(session.updated_at_ms).unwrap_or(i64::MAX);
    let mut info = json!({"sessionId": session.label, "cwd": cwd, "updatedAt": rfc3339(updated)});
    if let Some(title) = &session.title {
        info["title"] = title.as_str().into();
    }
    info
}

/// Why a prompt ended, in the protocol's words; `None` when it failed.
fn stop_reason(ended: &Ended) -> Option<&'static str> {
    if ended.view.state == DispatchState::Cancelled || ended.turn_end() == Some(&TurnEnd::Cancelled) {
        return Some("cancelled");
    }
    if ended.view.state == DispatchState::Refused {
        return Some("refusal");
    }
    match ended.turn_end()? {
        TurnEnd::LimitReached { limit: Limit::Steps } => Some("max_turn_requests"),
        TurnEnd::LimitReached { .. } => Some("max_tokens"),
        TurnEnd::Finished => Some(match finish_reason(ended.log.as_ref()) {
            "length" => "max_tokens",
            "content_filter" => "refusal",
            _ => "end_turn",
        }),
        _ => None,
    }
}

fn absolute(cwd: PathBuf) -> Result<PathBuf, RpcError> {
    if cwd.is_absolute() { Ok(cwd) } else { Err(RpcError::params("`cwd` must be an absolute path")) }
}

fn unknown(label: &str) -> RpcError {
    RpcError::not_found(format!("there is no session `{}`", label.chars().take(60).collect::<String>()))
}

fn refused(error: ConversationError) -> RpcError {
    crate::refusal::Refusal::from(error).into()
}
