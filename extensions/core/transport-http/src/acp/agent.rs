//! The agent's side of the protocol: sessions, modes, prompts and questions.

use super::prompt::{PromptBlock, compose};
use super::questions::{EditorQuestions, QuestionWatch};
use super::rpc::RpcPeer;
use super::rpc_message::{RpcError, typed};
use super::updates::ReplyUpdates;
use crate::dispatch_follower::{DispatchFollower, DispatchUpdate, EndedDispatch, ReplyEvent, failure, rows_as_replies};
use crate::openai::{ChatFinishReason, finish_reason};
use crate::services::TransportServices;
use dispatch_contracts::contribution::Command;
use dispatch_contracts::conversation::Role;
use dispatch_contracts::turn::{Limit, TurnEnd};
use dispatch_kernel::host::Owned;
use dispatch_kernel::services::command_line::{answer_text, parse_command_line};
use dispatch_os::files::{canonicalize, is_dir};
use dispatch_os::time::rfc3339;
use ext_conversation_store::contract::{ConversationError, Session, SessionFilter};
use ext_session_orchestrator::contract::{Ask, DispatchId, DispatchState, Submission};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

const PROTOCOL_VERSION: u16 = 1;
/// How many sessions one answer lists.
const PAGE: u32 = 50;

/// Serves one client.
pub(super) struct AcpAgent {
    services: Arc<TransportServices>,
    questions: Arc<EditorQuestions>,
    peer: Arc<RpcPeer>,
    open: Mutex<BTreeMap<String, OpenSessionState>>,
}

/// A session that the client has open.
#[derive(Debug, Default)]
struct OpenSessionState {
    cwd: PathBuf,
    mode: PermissionMode,
    prompt: Option<RunningPrompt>,
    /// The commands that the client was told of.
    commands: Vec<Value>,
    /// Passes on what people are asked there, whichever process asks.
    watch: Option<QuestionWatch>,
}

/// A prompt that runs, or is about to.
#[derive(Clone, Debug, Default)]
struct RunningPrompt {
    dispatch: Option<DispatchId>,
    is_cancelled: bool,
}

/// Who answers questions, as the client names it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum PermissionMode {
    #[default]
    Ask,
    Allow,
    Deny,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct NewSessionParams {
    cwd: PathBuf,
    #[serde(default)]
    mcp_servers: Vec<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OpenSessionParams {
    session_id: String,
    cwd: PathBuf,
    #[serde(default)]
    mcp_servers: Vec<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SessionParams {
    session_id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SetModeParams {
    session_id: String,
    mode_id: PermissionMode,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ListSessionsParams {
    #[serde(default)]
    cwd: Option<PathBuf>,
    #[serde(default)]
    cursor: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PromptParams {
    session_id: String,
    prompt: Vec<PromptBlock>,
}

/// A prompt that is registered and not yet submitted.
pub(super) struct AcceptedPrompt {
    session: String,
    cwd: PathBuf,
    submission: Submission,
}

impl AcpAgent {
    pub(super) fn new(services: Arc<TransportServices>, peer: Arc<RpcPeer>) -> Self {
        let questions = Arc::new(EditorQuestions::new(Arc::clone(&services), Arc::clone(&peer)));
        Self { services, questions, peer, open: Mutex::default() }
    }

    /// Answers every request but a prompt.
    pub(super) async fn answer(&self, method: &str, params: Value) -> Result<Value, RpcError> {
        match method {
            "initialize" => Ok(capabilities()),
            "authenticate" | "logout" => Ok(json!({})),
            "session/new" => self.new_session(typed(params)?),
            "session/load" => {
                let wanted: OpenSessionParams = typed(params)?;
                self.open_existing(&wanted).await?;
                self.replay(&wanted).await?;
                Ok(json!({"modes": modes(PermissionMode::default())}))
            }
            "session/resume" => {
                self.open_existing(&typed(params)?).await?;
                Ok(json!({"modes": modes(PermissionMode::default())}))
            }
            "session/list" => self.list(typed(params)?).await,
            "session/delete" => {
                let SessionParams { session_id } = typed(params)?;
                self.close(&session_id).await;
                self.services.conversations()?.delete(&session_id).await.map_err(refused)?;
                Ok(json!({}))
            }
            "session/close" => {
                let SessionParams { session_id } = typed(params)?;
                self.close(&session_id).await;
                Ok(json!({}))
            }
            "session/set_mode" => self.set_mode(typed(params)?).await,
            other => Err(RpcError::no_method(other)),
        }
    }

    /// Handles a notification.
    pub(super) async fn notified(&self, method: &str, params: Value) {
        if method == "session/cancel"
            && let Ok(SessionParams { session_id }) = typed(params)
        {
            self.cancel(&session_id).await;
        }
    }

    /// Stops every prompt; the client is gone.
    pub(super) async fn stop_all(&self) {
        let labels: Vec<String> = self.open().keys().cloned().collect();
        for label in labels {
            self.close(&label).await;
        }
    }

    /// Registers a prompt: from here on a cancellation finds it.
    pub(super) fn begin_prompt(&self, params: Value) -> Result<AcceptedPrompt, RpcError> {
        let PromptParams { session_id, prompt } = typed(params)?;
        let (text, images) = compose(prompt)?;
        let mut all = self.open();
        let open = all.get_mut(&session_id).ok_or_else(|| unknown(&session_id))?;
        if open.prompt.is_some() {
            return Err(RpcError::invalid("the session has a running prompt; cancel it first"));
        }
        open.prompt = Some(RunningPrompt::default());
        let submission = Submission {
            session: session_id.clone(),
            text,
            images,
            source: "acp".to_owned(),
            ask: open.mode.ask(),
            workdir: Some(open.cwd.clone()),
            ..Submission::default()
        };
        Ok(AcceptedPrompt { session: session_id, cwd: open.cwd.clone(), submission })
    }

    /// Runs a prompt to its end, with updates on the way.
    pub(super) async fn run_prompt(&self, prompt: AcceptedPrompt) -> Result<Value, RpcError> {
        // An extension may have come or gone since the last prompt.
        self.offer_commands(&prompt.session).await;
        let outcome = match self.command(&prompt.submission.text) {
            Some((command, args)) => self.run_command(&prompt.session, &command, args).await,
            None => self.follow(&prompt).await,
        };
        if let Some(open) = self.open().get_mut(&prompt.session) {
            open.prompt = None;
        }
        outcome
    }

    async fn follow(&self, prompt: &AcceptedPrompt) -> Result<Value, RpcError> {
        let mut follower = DispatchFollower::submit(&self.services, prompt.submission.clone()).await?;
        if self.note_dispatch(&prompt.session, &follower.dispatch) {
            self.services
                .sessions()?
                .cancel(&follower.dispatch)
                .await
                .map_err(|error| RpcError::internal(error.to_string()))?;
        }
        let mut updates = ReplyUpdates::new(prompt.cwd.clone());
        loop {
            match follower.next().await? {
                Some(DispatchUpdate::Reply(ReplyEvent::Asked(request))) => self.questions.put(*request, &prompt.cwd),
                Some(DispatchUpdate::Reply(reply)) => {
                    if let Some(update) = updates.update_for(Role::Assistant, &reply) {
                        self.update(&prompt.session, update).await;
                    }
                }
                Some(DispatchUpdate::Over(ended)) => return self.stopped(&ended),
                None => return Err(RpcError::internal("the prompt ended without a final state")),
            }
        }
    }

    fn stopped(&self, ended: &EndedDispatch) -> Result<Value, RpcError> {
        if let Some(reason) = stop_reason(ended) {
            return Ok(json!({"stopReason": reason}));
        }
        let refusal = failure(ended).unwrap_or_else(|| crate::refusal::Refusal::internal("a turn has no final state"));
        self.services.note(&refusal);
        Err(RpcError::internal(refusal.message))
    }

    fn new_session(&self, wanted: NewSessionParams) -> Result<Value, RpcError> {
        no_servers(&wanted.mcp_servers)?;
        let cwd = existing(wanted.cwd)?;
        let label = format!("acp-{}", self.services.fresh_id());
        let watch = Some(self.questions.watch(label.clone(), cwd.clone()));
        self.open().insert(label.clone(), OpenSessionState { cwd, watch, ..OpenSessionState::default() });
        Ok(json!({"sessionId": label, "modes": modes(PermissionMode::default())}))
    }

    async fn open_existing(&self, wanted: &OpenSessionParams) -> Result<(), RpcError> {
        no_servers(&wanted.mcp_servers)?;
        let cwd = existing(wanted.cwd.clone())?;
        let found = self.services.conversations()?.session(&wanted.session_id).await.map_err(refused)?;
        let known = found.is_some() || self.open().contains_key(&wanted.session_id);
        if !known {
            return Err(unknown(&wanted.session_id));
        }
        let mut all = self.open();
        let open = all.entry(wanted.session_id.clone()).or_default();
        open.watch = Some(self.questions.watch(wanted.session_id.clone(), cwd.clone()));
        open.cwd = cwd;
        Ok(())
    }

    async fn replay(&self, wanted: &OpenSessionParams) -> Result<(), RpcError> {
        let history = match self.services.conversations()?.history(&wanted.session_id).await {
            Ok(history) => history,
            Err(ConversationError::NoSession { .. }) => return Ok(()),
            Err(error) => return Err(refused(error)),
        };
        let mut updates = ReplyUpdates::new(wanted.cwd.clone());
        for (role, reply) in rows_as_replies(&history.rows) {
            if let Some(update) = updates.update_for(role, &reply) {
                self.update(&wanted.session_id, update).await;
            }
        }
        Ok(())
    }

    async fn list(&self, wanted: ListSessionsParams) -> Result<Value, RpcError> {
        let before = match &wanted.cursor {
            Some(cursor) => Some(
                cursor
                    .parse()
                    .map_err(|_| RpcError::params("invalid `cursor`; use `nextCursor` of the previous page"))?,
            ),
            None => None,
        };
        // Without a folder, the sessions of every folder are listed, each with its own.
        let folder = wanted.cwd.clone().map(absolute).transpose()?.map(|cwd| canonicalize(&cwd).unwrap_or(cwd));
        let filter = SessionFilter { updated_before_ms: before, folder, limit: PAGE, ..SessionFilter::default() };
        let found = self.services.conversations()?.sessions(filter).await.map_err(refused)?;
        let elsewhere = wanted.cwd.unwrap_or_else(|| self.services.folders().workdir);
        let open = self.open();
        let described = found.iter().map(|session| {
            let known = session.folder.as_ref().unwrap_or(&elsewhere);
            let cwd = open.get(&session.label).map_or(known, |open| &open.cwd);
            info(session, &cwd.to_string_lossy())
        });
        let mut listed = json!({"sessions": described.collect::<Vec<_>>()});
        if let Some(last) = found.last().filter(|_| found.len() == PAGE as usize) {
            listed["nextCursor"] = last.updated_at_ms.to_string().into();
        }
        Ok(listed)
    }

    async fn set_mode(&self, wanted: SetModeParams) -> Result<Value, RpcError> {
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
        if let (Some(dispatch), Ok(sessions)) = (dispatch, self.services.sessions()) {
            // One that has ended cannot be cancelled.
            let _ = sessions.cancel(&dispatch).await;
        }
    }

    /// Notes which dispatch a prompt became; says whether it was cancelled before that.
    fn note_dispatch(&self, label: &str, dispatch: &DispatchId) -> bool {
        self.questions.note_prompt(dispatch);
        let mut all = self.open();
        let Some(running) = all.get_mut(label).and_then(|open| open.prompt.as_mut()) else { return true };
        running.dispatch = Some(dispatch.clone());
        running.is_cancelled
    }

    /// Tells the client which commands there are in every open session that does not know yet.
    pub(super) async fn offer_all_commands(&self) {
        let labels: Vec<String> = self.open().keys().cloned().collect();
        for label in labels {
            self.offer_commands(&label).await;
        }
    }

    /// Tells the client which commands there are, if it does not know yet.
    async fn offer_commands(&self, label: &str) {
        let commands = self.services.extensions().map(|host| offered(&host.commands())).unwrap_or_default();
        let is_known = match self.open().get_mut(label) {
            Some(open) if open.commands == commands => true,
            Some(open) => {
                open.commands.clone_from(&commands);
                false
            }
            None => true,
        };
        if !is_known {
            let update = json!({"sessionUpdate": "available_commands_update", "availableCommands": commands});
            self.update(label, update).await;
        }
    }

    /// The command that a prompt is, if an extension has it.
    fn command(&self, text: &str) -> Option<(Owned<Command>, Vec<String>)> {
        let line = parse_command_line(text)?;
        let commands = self.services.extensions().ok()?.commands();
        let found = commands.into_iter().find(|command| command.name == line.name)?;
        Some((found, line.args))
    }

    async fn run_command(&self, label: &str, command: &Owned<Command>, args: Vec<String>) -> Result<Value, RpcError> {
        let answer = (command.item.respond)(json!({ "args": args })).await;
        let answer = answer.map_err(|error| RpcError::internal(format!("extension `{}`: {error}", command.owner)))?;
        let text = answer_text(&answer);
        if !text.is_empty() {
            let content = json!({"type": "text", "text": text});
            self.update(label, json!({"sessionUpdate": "agent_message_chunk", "content": content})).await;
        }
        Ok(json!({"stopReason": "end_turn"}))
    }

    async fn update(&self, label: &str, update: Value) {
        self.peer.notify("session/update", json!({"sessionId": label, "update": update})).await;
    }

    fn open(&self) -> MutexGuard<'_, BTreeMap<String, OpenSessionState>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PermissionMode {
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

fn offered(commands: &[Owned<Command>]) -> Vec<Value> {
    let described = commands.iter().map(|command| {
        json!({
            "name": command.name,
            "description": command.item.summary,
            "input": {"hint": "arguments"},
        })
    });
    described.collect()
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

fn modes(current: PermissionMode) -> Value {
    json!({
        "currentModeId": current.word(),
        "availableModes": [
            {"id": "ask", "name": "Ask", "description": "You are asked where the rules need a person's decision."},
            {"id": "allow", "name": "Allow", "description": "Every question is answered yes; what the rules refuse stays refused."},
            {"id": "deny", "name": "Deny", "description": "Every question is answered no."},
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
fn stop_reason(ended: &EndedDispatch) -> Option<&'static str> {
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
            ChatFinishReason::Length => "max_tokens",
            ChatFinishReason::ContentFilter => "refusal",
            ChatFinishReason::Stop => "end_turn",
        }),
        _ => None,
    }
}

fn absolute(cwd: PathBuf) -> Result<PathBuf, RpcError> {
    if cwd.is_absolute() { Ok(cwd) } else { Err(RpcError::params("`cwd` must be an absolute path")) }
}

fn existing(cwd: PathBuf) -> Result<PathBuf, RpcError> {
    let cwd = absolute(cwd)?;
    if is_dir(&cwd) { Ok(cwd) } else { Err(RpcError::params("`cwd` is not a folder that exists")) }
}

/// Servers that a client names would be left out in silence; until there is a client for them, that is an error.
fn no_servers(named: &[Value]) -> Result<(), RpcError> {
    if named.is_empty() {
        return Ok(());
    }
    let names: Vec<&str> = named.iter().filter_map(|server| server.get("name")?.as_str()).collect();
    Err(RpcError::params(format!(
        "MCP servers are not supported yet; open the session without `mcpServers` ({})",
        names.join(", ")
    )))
}

fn unknown(label: &str) -> RpcError {
    RpcError::not_found(format!("unknown session `{}`", label.chars().take(60).collect::<String>()))
}

fn refused(error: ConversationError) -> RpcError {
    crate::refusal::Refusal::from(error).into()
}
