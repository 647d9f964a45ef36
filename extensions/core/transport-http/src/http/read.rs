//! What can be asked without changing anything.

use super::body::{Asked, Named};
use super::connection::Shared;
use crate::refusal::Refusal;
use crate::settings::MODELS_TIMEOUT_MS;
use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use dispatch_contracts::provider::ModelInfo;
use ext_conversation_store::contract::{ConversationError, Session, SessionFilter};
use ext_session_orchestrator::contract::{DispatchId, DispatchView};
use futures_util::future::join_all;
use http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// How many hits a search gives if nobody says.
const DEFAULT_HITS: u32 = 50;
/// The longest search.
const MAX_QUERY_BYTES: usize = 1_024;
/// The longest that a request waits for the end of a dispatch.
const MAX_WAIT_MS: u64 = 60_000;
/// The model name that stands for whatever is configured.
pub(super) const CONFIGURED_MODEL: &str = "dispatch";

type Shop = State<Arc<Shared>>;

pub(super) async fn health(State(shared): Shop) -> Response {
    let version = env!("CARGO_PKG_VERSION");
    let failing = shared.desk.extensions().is_ok_and(|host| host.fatal().is_some());
    let (status, word) = if shared.desk.closing.is_cancelled() {
        (StatusCode::SERVICE_UNAVAILABLE, "draining")
    } else if failing {
        (StatusCode::SERVICE_UNAVAILABLE, "failing")
    } else {
        (StatusCode::OK, "ok")
    };
    (status, Json(json!({"status": word, "version": version}))).into_response()
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SessionsQuery {
    prefix: Option<String>,
    persona: Option<String>,
    before_ms: Option<u64>,
    #[serde(default)]
    limit: u32,
}

pub(super) async fn sessions(State(shared): Shop, Asked(query): Asked<SessionsQuery>) -> Result<Json<Value>, Refusal> {
    let filter = SessionFilter {
        label_prefix: query.prefix,
        persona: query.persona,
        updated_before_ms: query.before_ms,
        limit: query.limit,
    };
    let found = shared.desk.conversations()?.sessions(filter).await?;
    Ok(Json(json!({"sessions": found})))
}

pub(super) async fn session(State(shared): Shop, Named(label): Named) -> Result<Json<Session>, Refusal> {
    let found = shared.desk.conversations()?.session(&label).await?;
    Ok(Json(found.ok_or(ConversationError::NoSession { label })?))
}

pub(super) async fn history(State(shared): Shop, Named(label): Named) -> Result<Json<Value>, Refusal> {
    let history = shared.desk.conversations()?.history(&label).await?;
    Ok(Json(json!({"session": history.session, "turns": history.turns, "messages": history.messages})))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DispatchQuery {
    wait_ms: Option<u64>,
}

pub(super) async fn dispatch(
    State(shared): Shop,
    Named(id): Named,
    Asked(query): Asked<DispatchQuery>,
) -> Result<Json<DispatchView>, Refusal> {
    let (sessions, id) = (shared.desk.sessions()?, DispatchId::new(id));
    if let Some(ms) = query.wait_ms {
        let limit = Duration::from_millis(ms.min(MAX_WAIT_MS));
        tokio::select! {
            ended = sessions.wait(&id) => return Ok(Json(ended?)),
            () = tokio::time::sleep(limit) => {}
            () = shared.desk.closing.cancelled() => {}
        }
    }
    Ok(Json(sessions.dispatch(&id).await?))
}

#[derive(Deserialize)]
pub(super) struct OfSession {
    session: Option<String>,
}

pub(super) async fn queue(State(shared): Shop, Asked(query): Asked<OfSession>) -> Result<Json<Value>, Refusal> {
    let found = shared.desk.sessions()?.queue(query.session.as_deref()).await?;
    Ok(Json(json!({"dispatches": found})))
}

pub(super) async fn approvals(State(shared): Shop, Asked(query): Asked<OfSession>) -> Result<Json<Value>, Refusal> {
    let open = shared.desk.approvals()?.open(query.session.as_deref());
    Ok(Json(json!({"approvals": open})))
}

#[derive(Deserialize)]
pub(super) struct SearchQuery {
    q: String,
    limit: Option<u32>,
}

pub(super) async fn search(State(shared): Shop, Asked(query): Asked<SearchQuery>) -> Result<Json<Value>, Refusal> {
    if query.q.trim().is_empty() || query.q.len() > MAX_QUERY_BYTES {
        return Err(Refusal::invalid(format!("`q` is what to look for, at most {MAX_QUERY_BYTES} bytes")));
    }
    let hits = shared.desk.conversations()?.search(&query.q, query.limit.unwrap_or(DEFAULT_HITS)).await?;
    Ok(Json(json!({"hits": hits})))
}

pub(super) async fn extensions(State(shared): Shop) -> Result<Json<Value>, Refusal> {
    Ok(Json(json!({"extensions": shared.desk.extensions()?.status()})))
}

/// The models of all providers in the shape that OpenAI clients know; a provider that does not
/// answer in time has none.
pub(super) async fn models(State(shared): Shop) -> Result<Json<Value>, Refusal> {
    let providers = shared.desk.extensions()?.providers();
    let asked = providers.iter().map(|provider| async {
        let limit = Duration::from_millis(MODELS_TIMEOUT_MS);
        let found = tokio::time::timeout(limit, provider.item.models()).await;
        (provider.name.clone(), found.ok().and_then(Result::ok).unwrap_or_default())
    });
    let configured = model(CONFIGURED_MODEL.to_owned(), "dispatch", None);
    let found = join_all(asked).await;
    let offered = found.iter().flat_map(|(provider, models)| {
        models.iter().map(move |info| model(format!("{provider}/{}", info.id), provider, Some(info)))
    });
    let data: Vec<Value> = std::iter::once(configured).chain(offered).collect();
    Ok(Json(json!({"object": "list", "data": data})))
}

fn model(id: String, owner: &str, info: Option<&ModelInfo>) -> Value {
    let mut described = json!({"id": id, "object": "model", "created": 0, "owned_by": owner});
    if let (Some(tokens), Some(fields)) = (info.and_then(|info| info.context_tokens), described.as_object_mut()) {
        fields.insert("context_tokens".to_owned(), tokens.into());
    }
    described
}
