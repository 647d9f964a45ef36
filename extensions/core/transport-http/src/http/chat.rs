//! `/v1/chat/completions`: existing clients talk to a session without knowing that it is one.

use super::body::Posted;
use super::connection::{Shared, lock};
use super::read::CONFIGURED_MODEL;
use crate::follow::{Ended, Follow, Reply, Update, failure};
use crate::openai::{ChatRequest, Fingerprint, Frame, Plan, Tools, completion, finish_reason};
use crate::refusal::Refusal;
use crate::settings::{HEARTBEAT_MS, MAX_MESSAGE_BYTES};
use axum::Json;
use axum::extract::State;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use dispatch_contracts::provider::Usage;
use ext_session_orchestrator::contract::{Ask, Submission};
use futures_util::{Stream, StreamExt};
use http::HeaderMap;
use http::header::HeaderValue;
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

pub(super) async fn complete(
    State(shared): State<Arc<Shared>>,
    headers: HeaderMap,
    Posted(request): Posted<ChatRequest, MAX_MESSAGE_BYTES>,
) -> Result<Response, Refusal> {
    let plan = request.plan(text(&headers, SESSION))?;
    let model = Some(request.model.as_str()).filter(|name| !name.is_empty() && *name != CONFIGURED_MODEL);
    let (session, submission) = prepare(&shared, &plan, model, &headers)?;
    let follow = Follow::submit(&shared.desk, submission).await?;
    let frame = Frame {
        id: format!("chatcmpl-{}", follow.dispatch),
        created: shared.desk.clock().now_ms() / 1_000,
        model: if request.model.is_empty() { CONFIGURED_MODEL.to_owned() } else { request.model.clone() },
        include_usage: plan.include_usage,
    };
    let dispatch = follow.dispatch.to_string();
    let telling = Telling::new(Arc::clone(&shared), follow, frame, &plan, session.clone());
    let mut response = if request.stream == Some(true) {
        let beat = KeepAlive::new().interval(Duration::from_millis(HEARTBEAT_MS)).text("alive");
        Sse::new(telling.stream()).keep_alive(beat).into_response()
    } else {
        telling.whole().await?
    };
    for (name, value) in [(SESSION, session), (DISPATCH, dispatch)] {
        if let Ok(value) = HeaderValue::from_str(&value) {
            response.headers_mut().insert(name, value);
        }
    }
    Ok(response)
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// The session that is meant, and what is submitted to it. A session that the client goes on with
/// knows what was said before; a new one is told.
fn prepare(
    shared: &Shared,
    plan: &Plan,
    model: Option<&str>,
    headers: &HeaderMap,
) -> Result<(String, Submission), Refusal> {
    let known = plan.session.clone().or_else(|| lock(&shared.continuations).take(plan.before));
    let (session, said) = match known {
        Some(session) => (session, plan.text.clone()),
        None if plan.told_before.is_empty() => (format!("openai-{}", shared.desk.fresh_id()), plan.text.clone()),
        None => {
            let told = format!("This is our conversation so far.\n\n{}Now I say:\n{}", plan.told_before, plan.text);
            (format!("openai-{}", shared.desk.fresh_id()), told)
        }
    };
    let submission = Submission {
        session: session.clone(),
        text: said,
        images: plan.images.clone(),
        id: text(headers, IDEMPOTENCY).map(ToOwned::to_owned),
        source: "openai".to_owned(),
        model: model.map(ToOwned::to_owned),
        ask: ask(headers)?,
        ..Submission::default()
    };
    Ok((session, submission))
}

/// Nobody at such a client can be asked, unless it says that somebody watches elsewhere.
fn ask(headers: &HeaderMap) -> Result<Ask, Refusal> {
    match text(headers, ASK) {
        None | Some("none") => Ok(Ask::None),
        Some("person") => Ok(Ask::Person),
        Some("all") => Ok(Ask::All),
        Some(_) => Err(Refusal::invalid(format!("`{ASK}` is `none`, `person` or `all`"))),
    }
}

/// A reply on its way to the client.
struct Telling {
    shared: Arc<Shared>,
    follow: Follow,
    frame: Frame,
    tools: Tools,
    session: String,
    /// The conversation with the client's last words.
    conversation: Fingerprint,
    said: String,
    step: Option<u32>,
}

impl Telling {
    fn new(shared: Arc<Shared>, follow: Follow, frame: Frame, plan: &Plan, session: String) -> Self {
        let conversation = plan.before.with("user", &plan.text);
        Self { shared, follow, frame, tools: plan.tools, session, conversation, said: String::new(), step: None }
    }

    async fn whole(mut self) -> Result<Response, Refusal> {
        loop {
            match self.follow.next().await? {
                Some(Update::Reply(reply)) => drop(self.words(reply)),
                Some(Update::Over(ended)) => {
                    if let Some(refusal) = failure(&ended) {
                        return Err(refusal);
                    }
                    let reason = finish_reason(ended.log.as_ref());
                    let answer = completion(&self.frame, &self.said, reason, used(&ended));
                    self.note();
                    return Ok(Json(answer).into_response());
                }
                None => return Err(Refusal::internal("a dispatch ended without an end")),
            }
        }
    }

    fn stream(self) -> impl Stream<Item = Result<Event, Infallible>> + Send {
        let opening = self.frame.opening().to_string();
        let pieces = futures_util::stream::unfold(Some(self), |telling| async move {
            let mut telling = telling?;
            let (pieces, over) = telling.pieces().await;
            Some((futures_util::stream::iter(pieces), (!over).then_some(telling)))
        });
        let data = futures_util::stream::once(std::future::ready(opening)).chain(pieces.flatten());
        data.map(|data| Ok(Event::default().data(data)))
    }

    /// The next pieces, and whether they are the last ones.
    async fn pieces(&mut self) -> (Vec<String>, bool) {
        match self.follow.next().await {
            Ok(Some(Update::Reply(reply))) => (self.words(reply).iter().map(Value::to_string).collect(), false),
            Ok(Some(Update::Over(ended))) => match failure(&ended) {
                None => (self.ending(&ended), true),
                Some(refusal) => (vec![self.broken(&refusal)], true),
            },
            Ok(None) => (Vec::new(), true),
            Err(refusal) => (vec![self.broken(&refusal)], true),
        }
    }

    fn ending(&self, ended: &Ended) -> Vec<String> {
        let mut pieces = vec![self.frame.closing(finish_reason(ended.log.as_ref())).to_string()];
        if self.frame.include_usage {
            pieces.push(self.frame.cost(used(ended)).to_string());
        }
        pieces.push("[DONE]".to_owned());
        self.note();
        pieces
    }

    fn broken(&self, refusal: &Refusal) -> String {
        self.shared.desk.note(refusal);
        json!({"error": refusal}).to_string()
    }

    /// A piece of the reply as the client sees it.
    fn words(&mut self, reply: Reply) -> Option<Value> {
        match reply {
            Reply::Text { step, text } => {
                let apart = self.step.is_some_and(|last| last != step) && !self.said.is_empty();
                self.step = Some(step);
                let text = if apart { format!("{STEP_BREAK}{text}") } else { text };
                self.said.push_str(&text);
                Some(self.frame.text(&text))
            }
            Reply::Thought { text, .. } => Some(self.frame.thought(&text)),
            Reply::Called(call) if self.tools == Tools::AsText => {
                let before = if self.said.is_empty() { "" } else { STEP_BREAK };
                let text = format!("{before}[{} {}]", call.name, Value::Object(call.arguments));
                self.said.push_str(&text);
                self.step.get_or_insert(u32::MAX);
                Some(self.frame.text(&text))
            }
            _ => None,
        }
    }

    /// Where a client goes on that sends this conversation back.
    fn note(&self) {
        let now = self.conversation.with("assistant", &self.said);
        lock(&self.shared.continuations).note(now, self.session.clone());
    }
}

fn used(ended: &Ended) -> Usage {
    ended.log.as_ref().map(|log| log.turn.usage).unwrap_or_default()
}
