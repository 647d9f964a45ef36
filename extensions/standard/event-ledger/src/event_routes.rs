//! Events over HTTP: `POST /v1/events`, `GET /v1/events` and `GET /v1/events/{id}`, for clients with the token.

use crate::contract::{Appended, EventFilter, EventLedger, LedgerError, NewEvent, PeerKind};
use dispatch_contracts::BoxFuture;
use dispatch_contracts::contribution::Route;
use dispatch_contracts::hook::HandlerError;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::future::Future;
use std::sync::Arc;

/// How many events a list has, if the client does not say.
const DEFAULT_PAGE: u32 = 50;

/// What a client sends.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct PostedEvent {
    channel: String,
    from: String,
    content: String,
    #[serde(default)]
    account_id: Option<String>,
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    peer_kind: PeerKind,
    #[serde(default)]
    peer_id: Option<String>,
    #[serde(default)]
    thread_id: Option<String>,
    #[serde(default)]
    content_type: Option<String>,
    #[serde(default)]
    timestamp: Option<u64>,
    #[serde(default)]
    metadata: Map<String, Value>,
}

impl From<PostedEvent> for NewEvent {
    fn from(posted: PostedEvent) -> Self {
        Self {
            channel: posted.channel,
            account_id: posted.account_id.unwrap_or_default(),
            external_id: posted.id,
            from: posted.from,
            peer_kind: posted.peer_kind,
            peer_id: posted.peer_id,
            thread_id: posted.thread_id,
            content: posted.content,
            content_type: posted.content_type,
            timestamp: posted.timestamp,
            metadata: posted.metadata,
            ..Self::default()
        }
    }
}

/// The routes.
pub(crate) fn event_routes(ledger: &Arc<dyn EventLedger>) -> [Route; 3] {
    [
        route(ledger, "POST", "/v1/events", "Stores an event.", post),
        route(ledger, "GET", "/v1/events", "The newest events, or those behind a number.", list),
        route(ledger, "GET", "/v1/events/{id}", "An event and what was done with it.", show),
    ]
}

fn route<F, R>(
    ledger: &Arc<dyn EventLedger>,
    method: &'static str,
    path: &'static str,
    summary: &'static str,
    answer: F,
) -> Route
where
    F: Fn(Arc<dyn EventLedger>, Value) -> R + Send + Sync + 'static,
    R: Future<Output = Result<Value, LedgerError>> + Send + 'static,
{
    let ledger = Arc::clone(ledger);
    let respond = move |asked: Value| -> BoxFuture<'static, Result<Value, HandlerError>> {
        let answering = answer(Arc::clone(&ledger), asked);
        Box::pin(async move { Ok(answering.await.unwrap_or_else(|error| refusal(&error))) })
    };
    Route { method: method.into(), path: path.into(), summary: summary.into(), respond: Arc::new(respond) }
}

/// What was stored: 202 if it is new, 200 if it was there.
pub(crate) fn stored(appended: &Appended) -> Value {
    let status = if appended.fresh { 202 } else { 200 };
    json!({ "$status": status, "event": appended.event.id, "fresh": appended.fresh })
}

/// What a client is told of an error.
pub(crate) fn refusal(error: &LedgerError) -> Value {
    let (status, code) = match error {
        LedgerError::Invalid { .. } => (400, "invalid"),
        LedgerError::NoEvent { .. } => (404, "not_found"),
        LedgerError::Storage(_) | LedgerError::Closed | LedgerError::Fenced => (503, "storage"),
    };
    let message = match error {
        LedgerError::Storage(_) => "the database does not answer; try again".to_owned(),
        other => other.to_string(),
    };
    json!({ "$status": status, "error": { "code": code, "message": message, "hint": error.hint() } })
}

async fn post(ledger: Arc<dyn EventLedger>, mut asked: Value) -> Result<Value, LedgerError> {
    let body = asked.get_mut("body").map(Value::take).unwrap_or_default();
    let posted: PostedEvent = serde_json::from_value(body)
        .map_err(|error| LedgerError::Invalid { field: "body", problem: error.to_string() })?;
    Ok(stored(&ledger.append(posted.into()).await?))
}

async fn list(ledger: Arc<dyn EventLedger>, asked: Value) -> Result<Value, LedgerError> {
    let query = |name: &str| asked.pointer(&format!("/query/{name}")).and_then(Value::as_str);
    let limit = number(query("limit"), "limit")?.unwrap_or(DEFAULT_PAGE.into());
    let limit = u32::try_from(limit).unwrap_or(u32::MAX);
    let events = match number(query("after"), "after")? {
        Some(after) => ledger.after(after, limit).await?,
        None => {
            let channel = query("channel").map(str::to_owned);
            ledger.newest(EventFilter { channel, ..EventFilter::default() }, limit).await?
        }
    };
    Ok(json!({ "events": events }))
}

fn number(text: Option<&str>, field: &'static str) -> Result<Option<u64>, LedgerError> {
    let problem = || "it is not a whole number".to_owned();
    text.map(|text| text.parse().map_err(|_| LedgerError::Invalid { field, problem: problem() })).transpose()
}

async fn show(ledger: Arc<dyn EventLedger>, asked: Value) -> Result<Value, LedgerError> {
    let id = asked.pointer("/path/id").and_then(Value::as_str).unwrap_or_default();
    let event = ledger.get(id).await?.ok_or_else(|| LedgerError::NoEvent { id: id.to_owned() })?;
    let receipt = ledger.receipt(id).await?;
    Ok(json!({
        "event": event,
        "hooks": receipt.hooks,
        "dispatches": receipt.dispatches,
        "sends": receipt.sends,
    }))
}
