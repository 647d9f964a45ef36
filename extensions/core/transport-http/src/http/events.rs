//! The news of a session as server-sent events, resumable from any stored row.

use super::answers::SessionEventStream;
use super::connection::ServerState;
use super::input::{FromHead, HeadInput, QueryInput, SessionLabel};
use crate::refusal::Refusal;
use crate::settings::HEARTBEAT_MS;
use axum::extract::State;
use axum::response::IntoResponse;
use axum::response::sse::{Event, KeepAlive, Sse};
use ext_conversation_store::contract::check_label;
use ext_session_orchestrator::contract::{SessionEvent, SessionNews};
use futures_util::StreamExt;
use http::HeaderMap;
use http::request::Parts;
use schemars::JsonSchema;
use serde::Deserialize;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

const LAST_EVENT_ID: &str = "last-event-id";

#[derive(Deserialize, JsonSchema)]
pub(super) struct EventsQuery {
    /// The position of a stored row: everything stored behind it comes first. Without it only news is sent.
    after: Option<u64>,
}

impl QueryInput for EventsQuery {}

/// The last row that a client saw before it lost its connection.
pub(super) struct LastEventId(Option<u64>);

impl HeadInput for LastEventId {
    async fn read(parts: &mut Parts) -> Result<Self, Refusal> {
        last_seen(&parts.headers).map(Self)
    }
}

/// Streams until the client disconnects or the program closes. A client that reconnects names the last
/// row that it saw, which takes precedence over the query of its first request.
pub(super) async fn events(
    State(shared): ServerState,
    FromHead(SessionLabel(label)): FromHead<SessionLabel>,
    FromHead(query): FromHead<EventsQuery>,
    FromHead(LastEventId(last_seen)): FromHead<LastEventId>,
) -> Result<SessionEventStream, Refusal> {
    check_label(&label)?;
    let after = last_seen.or(query.after);
    let permit = Arc::clone(&shared.streams)
        .try_acquire_owned()
        .map_err(|_| Refusal::busy("too many event streams are open"))?;
    let news = shared.services.sessions()?.watch(&label, after).await?;
    let closing = shared.services.closing.cancelled();
    let last = futures_util::stream::once(std::future::ready(Event::default().event("closing").data("{}")));
    let told = news.map(move |event| {
        let _held = &permit;
        encode(&event)
    });
    let stream = told.take_until(closing).chain(last).map(Ok::<_, Infallible>);
    let beat = KeepAlive::new().interval(Duration::from_millis(HEARTBEAT_MS)).text("alive");
    Ok(SessionEventStream(Sse::new(stream).keep_alive(beat).into_response()))
}

fn last_seen(headers: &HeaderMap) -> Result<Option<u64>, Refusal> {
    let Some(value) = headers.get(LAST_EVENT_ID).map(|value| value.to_str().unwrap_or_default().trim()) else {
        return Ok(None);
    };
    if value.is_empty() {
        return Ok(None);
    }
    value.parse().map(Some).map_err(|_| Refusal::invalid("`Last-Event-ID` must be the number of a row"))
}

fn encode(event: &SessionEvent) -> Event {
    let name = match event.news {
        SessionNews::Row { .. } => "row",
        SessionNews::Live { .. } => "live",
        SessionNews::Dispatch { .. } => "dispatch",
        SessionNews::Asked { .. } => "asked",
        SessionNews::Settled { .. } => "settled",
        SessionNews::Lagged => "lagged",
    };
    // JSON text has no line breaks, so it is one `data:` line.
    let data = serde_json::to_string(event).unwrap_or_default();
    let encoded = Event::default().event(name).data(data);
    match event.seq {
        Some(seq) => encoded.id(seq.to_string()),
        None => encoded,
    }
}
