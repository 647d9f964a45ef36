//! `/v1/chat/completions`: clients of OpenAI use a session without knowing that it is one.

use super::answers::ChatAnswer;
use super::connection::{ServerShared, ServerState, lock};
use super::input::{FromHead, HeadInput, JsonBody};
use super::read::{CONFIGURED_MODEL, offered_models};
use crate::dispatch_follower::{DispatchFollower, DispatchUpdate, EndedDispatch, ReplyEvent, failure};
use crate::openai::{ChatCompletion, ChatFrame, ChatPlan, ChatRequest, Fingerprint, ToolVisibility, finish_reason};
use crate::refusal::Refusal;
use crate::settings::{HEARTBEAT_MS, MAX_MESSAGE_BYTES};
use axum::Json;
use axum::extract::State;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use dispatch_contracts::provider::{ModelInfo, Usage};
use ext_session_orchestrator::contract::{Ask, Submission};
use futures_util::{Stream, StreamExt};
use http::header::HeaderValue;
use http::request::Parts;
use serde_json::{Value, json};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

const SESSION: &str = "x-dispatch-session";
const DISPATCH: &str = "x-dispatch-id";
const ASK: &str = "x-dispatch-ask";
const IDEMPOTENCY: &str = "idempotency-key";
/// Stands between the texts of two steps.
const STEP_BREAK: &str = "\n\n";

/// What a client says in headers.
pub(super) struct ChatHeaders {
    session: Option<String>,
    /// Such a client cannot answer questions; by default every question is answered no.
    ask: Ask,
    idempotency: Option<String>,
}

impl HeadInput for ChatHeaders {
    async fn read(parts: &mut Parts) -> Result<Self, Refusal> {
        let text = |name: &str| parts.headers.get(name).and_then(|value| value.to_str().ok());
        let ask = match text(ASK) {
            None | Some("none") => Ask::None,
            Some("person") => Ask::Person,
            Some("all") => Ask::All,
            Some(_) => return Err(Refusal::invalid(format!("`{ASK}` must be `none`, `person` or `all`"))),
        };
        let owned = |name: &str| text(name).map(ToOwned::to_owned);
        Ok(Self { session: owned(SESSION), ask, idempotency: owned(IDEMPOTENCY) })
    }
}

pub(super) async fn complete(
    State(shared): ServerState,
    FromHead(headers): FromHead<ChatHeaders>,
    JsonBody(request): JsonBody<ChatRequest, MAX_MESSAGE_BYTES>,
) -> Result<ChatAnswer, Refusal> {
    answer(shared, headers, request).await.map_err(Refusal::for_openai)
}

async fn answer(shared: Arc<ServerShared>, headers: ChatHeaders, request: ChatRequest) -> Result<ChatAnswer, Refusal> {
    let plan = request.plan(headers.session.as_deref())?;
    check_model(&shared, &request.model).await?;
    let model = Some(request.model.as_str()).filter(|name| !name.is_empty() && *name != CONFIGURED_MODEL);
    let (session, submission) = prepare(&shared, &plan, model, headers);
    let follower = DispatchFollower::submit(&shared.services, submission).await?;
    let frame = ChatFrame {
        id: format!("chatcmpl-{}", follower.dispatch),
        created: shared.services.clock().now_ms() / 1_000,
        model: if request.model.is_empty() { CONFIGURED_MODEL.to_owned() } else { request.model.clone() },
        include_usage: plan.include_usage,
    };
    let dispatch = follower.dispatch.to_string();
    let reply = ChatReply::new(Arc::clone(&shared), follower, frame, &plan, session.clone());
    let mut response = if request.stream == Some(true) {
        let beat = KeepAlive::new().interval(Duration::from_millis(HEARTBEAT_MS)).text("alive");
        Sse::new(reply.stream()).keep_alive(beat).into_response()
    } else {
        reply.whole().await?
    };
    for (name, value) in [(SESSION, session), (DISPATCH, dispatch)] {
        if let Ok(value) = HeaderValue::from_str(&value) {
            response.headers_mut().insert(name, value);
        }
    }
    Ok(ChatAnswer(response))
}

/// Refuses a model that no provider has. Where the providers do not say which they have, the model's server decides.
async fn check_model(shared: &ServerShared, model: &str) -> Result<(), Refusal> {
    if model.is_empty() || model == CONFIGURED_MODEL || shared.services.configured_models().iter().any(|it| it == model)
    {
        return Ok(());
    }
    let offered = offered_models(shared).await?;
    let is_known = |(provider, known): &(String, Vec<ModelInfo>)| {
        known.iter().any(|info| info.id == model || format!("{provider}/{}", info.id) == model)
    };
    if offered.iter().any(is_known) || offered.iter().all(|(_, known)| known.is_empty()) {
        return Ok(());
    }
    let shown: String = model.chars().take(100).collect();
    let refusal = Refusal::invalid(format!("the model `{shown}` does not exist"));
    Err(Refusal { code: "model_not_found", ..refusal.parameter("model") }.hint("GET /v1/models lists the models"))
}

/// The session, and what is submitted to it. A session that the client continues knows what was said
/// before; a new one is told.
fn prepare(shared: &ServerShared, plan: &ChatPlan, model: Option<&str>, headers: ChatHeaders) -> (String, Submission) {
    let known = plan.session.clone().or_else(|| lock(&shared.continuations).take(plan.before));
    let (session, said) = match known {
        Some(session) => (session, plan.text.clone()),
        None if plan.told_before.is_empty() => (format!("openai-{}", shared.services.fresh_id()), plan.text.clone()),
        None => {
            let told = format!("This is our conversation so far.\n\n{}Now I say:\n{}", plan.told_before, plan.text);
            (format!("openai-{}", shared.services.fresh_id()), told)
        }
    };
    let submission = Submission {
        session: session.clone(),
        text: said,
        images: plan.images.clone(),
        id: headers.idempotency,
        source: "openai".to_owned(),
        model: model.map(ToOwned::to_owned),
        ask: headers.ask,
        options: plan.options.clone(),
        ..Submission::default()
    };
    (session, submission)
}

/// A reply on its way to the client.
struct ChatReply {
    shared: Arc<ServerShared>,
    follower: DispatchFollower,
    frame: ChatFrame,
    tools: ToolVisibility,
    session: String,
    /// The conversation with the client's last words.
    conversation: Fingerprint,
    said: String,
    step: Option<u32>,
}

impl ChatReply {
    fn new(
        shared: Arc<ServerShared>,
        follower: DispatchFollower,
        frame: ChatFrame,
        plan: &ChatPlan,
        session: String,
    ) -> Self {
        let conversation = plan.before.with("user", &plan.text);
        Self { shared, follower, frame, tools: plan.tools, session, conversation, said: String::new(), step: None }
    }

    async fn whole(mut self) -> Result<Response, Refusal> {
        loop {
            match self.follower.next().await? {
                Some(DispatchUpdate::Reply(reply)) => drop(self.words(reply)),
                Some(DispatchUpdate::Over(ended)) => {
                    if let Some(refusal) = failure(&ended) {
                        return Err(refusal);
                    }
                    let reason = finish_reason(ended.log.as_ref());
                    let answer = ChatCompletion::new(&self.frame, &self.said, reason, used(&ended));
                    self.note();
                    return Ok(Json(answer).into_response());
                }
                None => return Err(Refusal::internal("a dispatch ended without a final state")),
            }
        }
    }

    fn stream(self) -> impl Stream<Item = Result<Event, Infallible>> + Send {
        let opening = self.frame.opening().to_string();
        let pieces = futures_util::stream::unfold(Some(self), |reply| async move {
            let mut reply = reply?;
            let (pieces, over) = reply.pieces().await;
            Some((futures_util::stream::iter(pieces), (!over).then_some(reply)))
        });
        let data = futures_util::stream::once(std::future::ready(opening)).chain(pieces.flatten());
        data.map(|data| Ok(Event::default().data(data)))
    }

    /// The next pieces, and whether they are the last ones.
    async fn pieces(&mut self) -> (Vec<String>, bool) {
        match self.follower.next().await {
            Ok(Some(DispatchUpdate::Reply(reply))) => (self.words(reply).iter().map(Value::to_string).collect(), false),
            Ok(Some(DispatchUpdate::Over(ended))) => match failure(&ended) {
                None => (self.ending(&ended), true),
                Some(refusal) => (vec![self.broken(&refusal)], true),
            },
            Ok(None) => (Vec::new(), true),
            Err(refusal) => (vec![self.broken(&refusal)], true),
        }
    }

    fn ending(&self, ended: &EndedDispatch) -> Vec<String> {
        let mut pieces = vec![self.frame.closing(finish_reason(ended.log.as_ref())).to_string()];
        if self.frame.include_usage {
            pieces.push(self.frame.cost(used(ended)).to_string());
        }
        pieces.push("[DONE]".to_owned());
        self.note();
        pieces
    }

    fn broken(&self, refusal: &Refusal) -> String {
        self.shared.services.note(refusal);
        json!({"error": refusal}).to_string()
    }

    /// A piece of the reply as the client sees it.
    fn words(&mut self, reply: ReplyEvent) -> Option<Value> {
        match reply {
            ReplyEvent::Text { step, text } => {
                let apart = self.step.is_some_and(|last| last != step) && !self.said.is_empty();
                self.step = Some(step);
                let text = if apart { format!("{STEP_BREAK}{text}") } else { text };
                self.said.push_str(&text);
                Some(self.frame.text(&text))
            }
            ReplyEvent::Thought { text, .. } => Some(self.frame.thought(&text)),
            ReplyEvent::Called(call) if self.tools == ToolVisibility::AsText => {
                let before = if self.said.is_empty() { "" } else { STEP_BREAK };
                let text = format!("{before}[{} {}]", call.name, Value::Object(call.arguments));
                self.said.push_str(&text);
                self.step.get_or_insert(u32::MAX);
                Some(self.frame.text(&text))
            }
            _ => None,
        }
    }

    /// Remembers the session for a client that sends this conversation back.
    fn note(&self) {
        let now = self.conversation.with("assistant", &self.said);
        lock(&self.shared.continuations).note(now, self.session.clone());
    }
}

fn used(ended: &EndedDispatch) -> Usage {
    ended.log.as_ref().map(|log| log.turn.usage).unwrap_or_default()
}
