//! The channel `web`: a browser or program posts messages and reads the replies as server-sent events.

use crate::contract::{EventLedger, LedgerError, NewEvent};
use crate::event_routes::{refusal, stored};
use crate::kept_replies::KeptReplies;
use dispatch_contracts::BoxFuture;
use dispatch_contracts::contribution::Route;
use dispatch_contracts::hook::HandlerError;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// The channel's name.
pub(crate) const CHANNEL: &str = "web";
/// After how many looks for a reply a stream says that it is still there.
const LOOKS: u32 = 20;

/// What a client posts.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct PostedMessage {
    content: String,
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    thread_id: Option<String>,
    #[serde(default)]
    metadata: Map<String, Value>,
}

/// What the routes work with.
pub(crate) struct WebChannel {
    pub(crate) ledger: Arc<dyn EventLedger>,
    pub(crate) replies: Arc<KeptReplies>,
}

impl WebChannel {
    async fn stream(&self, asked: &Value) -> Result<Value, LedgerError> {
        let peer = asked.pointer("/path/peer").and_then(Value::as_str).unwrap_or_default();
        let (after, looks) = match asked.get("next").and_then(Value::as_u64) {
            Some(after) => (after, LOOKS),
            // The first answer opens the stream, so it does not wait.
            None => (first_number(asked)?, 0),
        };
        let found = self.replies.after(CHANNEL, peer, after, looks).await?;
        let last = found.last().map_or(after, |reply| reply.sequence);
        let event = |reply| json!({ "event": "reply", "data": reply });
        let mut events: Vec<Value> = found.iter().map(event).collect();
        for (event, reply) in events.iter_mut().zip(&found) {
            event["id"] = reply.sequence.to_string().into();
        }
        Ok(json!({ "$events": events, "$next": last }))
    }

    async fn take(&self, asked: &Value) -> Result<Value, LedgerError> {
        let peer = asked.pointer("/path/peer").and_then(Value::as_str).unwrap_or_default();
        let body = asked.get("body").cloned().unwrap_or_default();
        let posted: PostedMessage = serde_json::from_value(body)
            .map_err(|error| LedgerError::Invalid { field: "body", problem: error.to_string() })?;
        let event = NewEvent {
            channel: CHANNEL.to_owned(),
            external_id: posted.id,
            from: peer.to_owned(),
            peer_id: Some(peer.to_owned()),
            thread_id: posted.thread_id,
            content: posted.content,
            metadata: posted.metadata,
            ..NewEvent::default()
        };
        Ok(stored(&self.ledger.append(event).await?))
    }
}

fn first_number(asked: &Value) -> Result<u64, LedgerError> {
    let Some(text) = asked.pointer("/query/after").and_then(Value::as_str) else { return Ok(0) };
    text.parse().map_err(|_| LedgerError::Invalid { field: "after", problem: "it is not a number".to_owned() })
}

/// The routes of the channel.
pub(crate) fn web_routes(channel: &Arc<WebChannel>) -> [Route; 2] {
    let (posting, streaming) = (Arc::clone(channel), Arc::clone(channel));
    let post = move |asked: Value| -> BoxFuture<'static, Result<Value, HandlerError>> {
        let channel = Arc::clone(&posting);
        Box::pin(async move { Ok(channel.take(&asked).await.unwrap_or_else(|error| refusal(&error))) })
    };
    let stream = move |asked: Value| -> BoxFuture<'static, Result<Value, HandlerError>> {
        let channel = Arc::clone(&streaming);
        Box::pin(async move { Ok(channel.stream(&asked).await.unwrap_or_else(|error| refusal(&error))) })
    };
    [
        Route {
            method: "POST".into(),
            path: "/v1/channels/web/{peer}/messages".into(),
            summary: "Takes a message of a peer as an event.".into(),
            respond: Arc::new(post),
        },
        Route {
            method: "GET".into(),
            path: "/v1/channels/web/{peer}/events".into(),
            summary: "Streams the replies to a peer as server-sent events.".into(),
            respond: Arc::new(stream),
        },
    ]
}
