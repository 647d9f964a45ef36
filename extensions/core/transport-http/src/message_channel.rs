//! One client that exchanges JSON messages, over a WebSocket or over standard streams.
//!
//! A client sends objects with a `type` and, if it wants to recognise the answer, a `ref`:
//!
//! | type | fields | answered with |
//! |---|---|---|
//! | `subscribe` | `session`, `after`? | `ok`, then `event` messages |
//! | `unsubscribe` | `session` | `ok` |
//! | `submit` | `session` and the fields of a message | `ok` with `dispatch`, once it is durable |
//! | `dispatch` | `dispatch` | `ok` with where it stands |
//! | `cancel` | `dispatch` | `ok` with `outcome` |
//! | `answer` | `approval`, `answer`, `reason`?, `remember`? | `ok` |
//! | `ping` | | `ok` |
//!
//! A request that fails is answered with `error`. Requests are answered in order.

mod request;

use crate::refusal::Refusal;
use crate::services::TransportServices;
use dispatch_contracts::BoxStream;
use dispatch_contracts::cancel::CancelToken;
use ext_conversation_store::contract::check_label;
use ext_session_orchestrator::contract::SessionEvent;
use futures_util::stream::SelectAll;
use futures_util::{Sink, SinkExt, Stream, StreamExt};
use request::ChannelRequest;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The version of the messages.
const PROTOCOL: u32 = 1;
/// How many sessions one client can follow.
const MAX_SUBSCRIPTIONS: usize = 64;

/// What came from the client.
pub(crate) enum IncomingMessage {
    /// A message.
    Text(String),
    /// Something that is not a message, and why.
    Unreadable(&'static str),
}

/// Who sends messages.
#[derive(Clone, Copy)]
pub(crate) struct ChannelClient {
    /// The way that they come.
    pub(crate) source: &'static str,
    /// Whether it may answer questions.
    pub(crate) may_answer: bool,
}

/// Serves the client until it disconnects or the program closes.
pub(crate) async fn serve_messages<I, O>(
    services: Arc<TransportServices>,
    client: ChannelClient,
    input: I,
    output: O,
) -> Result<(), O::Error>
where
    I: Stream<Item = IncomingMessage> + Unpin,
    O: Sink<String> + Unpin,
{
    let mut channel = MessageChannel { services, client, output, events: SelectAll::new(), following: BTreeMap::new() };
    let ready = json!({"type": "ready", "protocol": PROTOCOL, "version": env!("CARGO_PKG_VERSION")});
    channel.send(&ready).await?;
    channel.run(input).await
}

type NamedSessionEvent = (Arc<str>, Option<SessionEvent>);

struct MessageChannel<O> {
    services: Arc<TransportServices>,
    client: ChannelClient,
    output: O,
    events: SelectAll<BoxStream<'static, NamedSessionEvent>>,
    following: BTreeMap<String, CancelToken>,
}

impl<O: Sink<String> + Unpin> MessageChannel<O> {
    async fn run(&mut self, mut input: impl Stream<Item = IncomingMessage> + Unpin) -> Result<(), O::Error> {
        let closing = self.services.closing.clone();
        loop {
            tokio::select! {
                () = closing.cancelled() => {
                    self.send(&json!({"type": "closing"})).await?;
                    return self.output.close().await;
                }
                heard = input.next() => match heard {
                    Some(heard) => self.hear(heard).await?,
                    None => return Ok(()),
                },
                Some((session, event)) = self.events.next(), if !self.events.is_empty() => {
                    self.tell(&session, event).await?;
                }
            }
        }
    }

    async fn hear(&mut self, heard: IncomingMessage) -> Result<(), O::Error> {
        let (reference, asked) = match heard {
            IncomingMessage::Text(text) => request::read(&text),
            IncomingMessage::Unreadable(why) => (Value::Null, Err(Refusal::invalid(why))),
        };
        let outcome = match asked {
            Ok(request) => self.answer(request).await,
            Err(refusal) => Err(refusal),
        };
        let mut said = match outcome {
            Ok(result) => json!({"type": "ok", "result": result}),
            Err(refusal) => {
                self.services.note(&refusal);
                json!({"type": "error", "error": refusal})
            }
        };
        if !reference.is_null()
            && let Some(fields) = said.as_object_mut()
        {
            fields.insert("ref".to_owned(), reference);
        }
        self.send(&said).await
    }

    async fn answer(&mut self, request: ChannelRequest) -> Result<Value, Refusal> {
        match request {
            ChannelRequest::Subscribe { session, after } => self.subscribe(session, after).await,
            ChannelRequest::Unsubscribe { session } => {
                let was = self.following.remove(&session).inspect(CancelToken::cancel);
                Ok(json!({"session": session, "was": was.is_some()}))
            }
            ChannelRequest::Submit { session, message } => {
                let label = session.clone();
                let receipt =
                    self.services.sessions()?.submit(message.into_submission(session, self.client.source)).await?;
                let mut told = json!({"dispatch": receipt.dispatch, "session": label, "fresh": receipt.fresh});
                told["mode"] = json!(receipt.mode);
                if let Some(note) = receipt.note {
                    told["note"] = note.into();
                }
                Ok(told)
            }
            ChannelRequest::Dispatch { dispatch } => {
                let view = self.services.sessions()?.dispatch(&dispatch).await?;
                serde_json::to_value(view).map_err(Refusal::internal)
            }
            ChannelRequest::Cancel { dispatch } => {
                let outcome = self.services.sessions()?.cancel(&dispatch).await?;
                Ok(json!({"dispatch": dispatch, "outcome": outcome}))
            }
            ChannelRequest::Answer { approval, answer } => {
                if !self.client.may_answer {
                    return Err(Refusal::needs_approval_token());
                }
                self.services.answer(&approval, answer, self.client.source.to_owned()).await?;
                Ok(json!({"approval": approval}))
            }
            ChannelRequest::Ping {} => Ok(json!({})),
        }
    }

    async fn subscribe(&mut self, session: String, after: Option<u64>) -> Result<Value, Refusal> {
        if self.following.len() >= MAX_SUBSCRIPTIONS && !self.following.contains_key(&session) {
            let said = format!("a client can follow at most {MAX_SUBSCRIPTIONS} sessions");
            return Err(Refusal::conflict(said).hint("unsubscribe from one first"));
        }
        check_label(&session)?;
        let events = self.services.sessions()?.watch(&session, after).await?;
        let stop = CancelToken::new();
        let name: Arc<str> = session.as_str().into();
        let end = futures_util::stream::once(std::future::ready((Arc::clone(&name), None)));
        let named = events.map(move |event| (Arc::clone(&name), Some(event))).chain(end);
        self.events.push(named.take_until(stop.cancelled()).boxed());
        if let Some(before) = self.following.insert(session.clone(), stop) {
            before.cancel();
        }
        Ok(json!({"session": session}))
    }

    async fn tell(&mut self, session: &str, event: Option<SessionEvent>) -> Result<(), O::Error> {
        let Some(event) = event else {
            self.following.remove(session);
            return self.send(&json!({"type": "ended", "session": session})).await;
        };
        let mut said = serde_json::to_value(event).unwrap_or_default();
        if let Some(fields) = said.as_object_mut() {
            fields.insert("type".to_owned(), "event".into());
            fields.insert("session".to_owned(), session.into());
        }
        self.send(&said).await
    }

    async fn send(&mut self, message: &Value) -> Result<(), O::Error> {
        self.output.send(message.to_string()).await
    }
}
