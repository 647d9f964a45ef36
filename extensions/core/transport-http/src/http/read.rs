//! Handlers that change nothing.

use super::answers::{
    Conversation, DispatchList, ExtensionList, Health, HealthStatus, HitList, Model, ModelList, SessionList,
};
use super::connection::{ServerShared, ServerState};
use super::input::{FromHead, QueryInput, SessionLabel};
use crate::approval_answer::OpenApprovalWire;
use crate::refusal::Refusal;
use crate::settings::MODELS_TIMEOUT_MS;
use axum::Json;
use axum::extract::State;
use dispatch_contracts::provider::ModelInfo;
use ext_conversation_store::contract::{ConversationError, Session, SessionFilter};
use ext_session_orchestrator::contract::{DispatchId, DispatchView};
use futures_util::future::join_all;
use schemars::JsonSchema;
use serde::Deserialize;
use std::path::PathBuf;
use std::time::Duration;

/// How many hits a search returns by default.
const DEFAULT_HITS: u32 = 50;
/// The longest search.
const MAX_QUERY_BYTES: usize = 1_024;
/// The longest that a request waits for the end of a dispatch.
const MAX_WAIT_MS: u64 = 60_000;
/// The model name that stands for whatever is configured.
pub(super) const CONFIGURED_MODEL: &str = "dispatch";

pub(super) async fn health(State(shared): ServerState) -> Health {
    let failing = shared.services.extensions().is_ok_and(|host| host.fatal().is_some());
    let status = if shared.services.closing.is_cancelled() {
        HealthStatus::Draining
    } else if failing {
        HealthStatus::Failing
    } else {
        HealthStatus::Ok
    };
    Health { status, version: env!("CARGO_PKG_VERSION") }
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct SessionsQuery {
    /// Only labels that start with this.
    prefix: Option<String>,
    /// Only sessions of this persona.
    persona: Option<String>,
    /// Only sessions of this folder.
    folder: Option<PathBuf>,
    /// Only sessions that last changed before this, in Unix milliseconds.
    before_ms: Option<u64>,
    /// The most sessions to return.
    #[serde(default)]
    limit: u32,
}

impl QueryInput for SessionsQuery {}

pub(super) async fn sessions(
    State(shared): ServerState,
    FromHead(query): FromHead<SessionsQuery>,
) -> Result<Json<SessionList>, Refusal> {
    let filter = SessionFilter {
        label_prefix: query.prefix,
        persona: query.persona,
        folder: query.folder,
        updated_before_ms: query.before_ms,
        limit: query.limit,
    };
    let sessions = shared.services.conversations()?.sessions(filter).await?;
    Ok(Json(SessionList { sessions }))
}

pub(super) async fn session(
    State(shared): ServerState,
    FromHead(SessionLabel(label)): FromHead<SessionLabel>,
) -> Result<Json<Session>, Refusal> {
    let found = shared.services.conversations()?.session(&label).await?;
    Ok(Json(found.ok_or(ConversationError::NoSession { label })?))
}

pub(super) async fn history(
    State(shared): ServerState,
    FromHead(SessionLabel(label)): FromHead<SessionLabel>,
) -> Result<Json<Conversation>, Refusal> {
    let history = shared.services.conversations()?.history(&label).await?;
    let messages = history.messages();
    Ok(Json(Conversation { session: history.session, turns: history.turns, messages }))
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct DispatchQuery {
    /// How long to wait for the end of the dispatch, in milliseconds; at most 60000.
    wait_ms: Option<u64>,
}

impl QueryInput for DispatchQuery {}

pub(super) async fn dispatch(
    State(shared): ServerState,
    FromHead(id): FromHead<DispatchId>,
    FromHead(query): FromHead<DispatchQuery>,
) -> Result<Json<DispatchView>, Refusal> {
    let sessions = shared.services.sessions()?;
    if let Some(ms) = query.wait_ms {
        let limit = Duration::from_millis(ms.min(MAX_WAIT_MS));
        tokio::select! {
            ended = sessions.wait(&id) => return Ok(Json(ended?)),
            () = tokio::time::sleep(limit) => {}
            () = shared.services.closing.cancelled() => {}
        }
    }
    Ok(Json(sessions.dispatch(&id).await?))
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct SessionQuery {
    /// Only those of this session.
    session: Option<String>,
}

impl QueryInput for SessionQuery {}

pub(super) async fn queue(
    State(shared): ServerState,
    FromHead(query): FromHead<SessionQuery>,
) -> Result<Json<DispatchList>, Refusal> {
    let dispatches = shared.services.sessions()?.queue(query.session.as_deref()).await?;
    Ok(Json(DispatchList { dispatches }))
}

pub(super) async fn approvals(
    State(shared): ServerState,
    FromHead(query): FromHead<SessionQuery>,
) -> Result<Json<Vec<OpenApprovalWire>>, Refusal> {
    let open = shared.services.approvals()?.open(query.session.as_deref()).await?;
    Ok(Json(open.into_iter().map(OpenApprovalWire::from).collect()))
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct SearchQuery {
    /// What to search for; at most 1024 bytes.
    q: String,
    /// The most hits to return; 50 by default.
    limit: Option<u32>,
}

impl QueryInput for SearchQuery {}

pub(super) async fn search(
    State(shared): ServerState,
    FromHead(query): FromHead<SearchQuery>,
) -> Result<Json<HitList>, Refusal> {
    if query.q.trim().is_empty() || query.q.len() > MAX_QUERY_BYTES {
        return Err(Refusal::invalid(format!("`q` must be text of 1 to {MAX_QUERY_BYTES} bytes")));
    }
    let hits = shared.services.conversations()?.search(&query.q, query.limit.unwrap_or(DEFAULT_HITS)).await?;
    Ok(Json(HitList { hits }))
}

pub(super) async fn extensions(State(shared): ServerState) -> Result<Json<ExtensionList>, Refusal> {
    Ok(Json(ExtensionList { extensions: shared.services.extensions()?.status() }))
}

/// The models of each provider; one that does not answer in time has none.
pub(super) async fn offered_models(shared: &ServerShared) -> Result<Vec<(String, Vec<ModelInfo>)>, Refusal> {
    let providers = shared.services.extensions()?.providers();
    let asked = providers.iter().map(|provider| async {
        let limit = Duration::from_millis(MODELS_TIMEOUT_MS);
        let found = tokio::time::timeout(limit, provider.item.models()).await;
        (provider.name.clone(), found.ok().and_then(Result::ok).unwrap_or_default())
    });
    Ok(join_all(asked).await)
}

/// The models of all providers in the shape that OpenAI clients know.
pub(super) async fn models(State(shared): ServerState) -> Result<Json<ModelList>, Refusal> {
    let configured = model(CONFIGURED_MODEL.to_owned(), "dispatch", None);
    let found = offered_models(&shared).await?;
    let offered = found.iter().flat_map(|(provider, models)| {
        models.iter().map(move |info| model(format!("{provider}/{}", info.id), provider, Some(info)))
    });
    Ok(Json(ModelList { object: "list", data: std::iter::once(configured).chain(offered).collect() }))
}

fn model(id: String, owner: &str, info: Option<&ModelInfo>) -> Model {
    let context_tokens = info.and_then(|info| info.context_tokens);
    Model { id, object: "model", created: 0, owned_by: owner.to_owned(), context_tokens }
}
