//! What a webhook's request says, as events.
//!
//! Pure.

use super::cloud_event;
use super::signature::SignatureScheme;
use super::webhook_settings::{CHANNEL, WebhookSettings};
use crate::contract::{EventOrigin, NewEvent, PeerKind};
use dispatch_contracts::contribution::RawRequest;
use serde_json::{Map, Value};

/// The header by which a reply of ours that comes back is recognised: `EVENT HOPS`.
pub(super) const ORIGIN_HEADER: &str = "dispatch-origin";
/// The headers that name a delivery, most telling first.
const ID_HEADERS: [&str; 4] = ["webhook-id", "x-github-delivery", "idempotency-key", "x-event-id"];

/// Why a request is no event. Says nothing of its content but where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct PayloadError(String);

impl PayloadError {
    pub(super) fn new(problem: impl Into<String>) -> Self {
        Self(problem.into())
    }

    pub(super) fn within(self, place: &str) -> Self {
        Self(format!("{place}: {}", self.0))
    }
}

/// An event of a request.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ReadEvent {
    pub(crate) event: NewEvent,
    /// Whether its sender named it; else only its bytes tell whether it is a repetition.
    pub(crate) is_named: bool,
}

/// The events of a request whose signature was checked.
pub(crate) fn read_events(request: &RawRequest, webhook: &WebhookSettings) -> Result<Vec<ReadEvent>, PayloadError> {
    let mut events = match cloud_event::read(request) {
        Some(read) => read?,
        None => vec![plain(request, webhook)?],
    };
    let origin = request.header(ORIGIN_HEADER).and_then(origin);
    for read in &mut events {
        read.event.channel = CHANNEL.to_owned();
        read.event.account_id.clone_from(&webhook.name);
        read.event.origin.clone_from(&origin);
    }
    Ok(events)
}

fn origin(text: &str) -> Option<EventOrigin> {
    let (event, hops) = text.rsplit_once(' ')?;
    Some(EventOrigin { event: event.to_owned(), hops: hops.parse().ok()? })
}

/// The text of a body.
pub(super) fn utf8(body: &[u8]) -> Result<String, PayloadError> {
    let text = std::str::from_utf8(body);
    text.map(str::to_owned)
        .map_err(|error| PayloadError::new(format!("the body is not valid UTF-8 at byte {}", error.valid_up_to())))
}

/// The JSON of a body.
pub(super) fn parse_json(body: &[u8]) -> Result<Value, PayloadError> {
    let text = utf8(body)?;
    serde_json::from_str(&text).map_err(|error| PayloadError::new(format!("the body is not valid JSON: {error}")))
}

/// JSON as the content of an event: for hooks that read it, and for people.
pub(super) fn json_content(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

fn plain(request: &RawRequest, webhook: &WebhookSettings) -> Result<ReadEvent, PayloadError> {
    let body = parse_json(&request.body)?;
    let mut event = match webhook.scheme {
        SignatureScheme::Github => github(request, &body),
        SignatureScheme::Slack => slack(&body),
        _ => None,
    }
    .unwrap_or_else(|| generic(&body, &webhook.name));
    if let Some(id) = ID_HEADERS.iter().find_map(|header| request.header(header)) {
        event.external_id = Some(id.to_owned());
    }
    Ok(ReadEvent { is_named: event.external_id.is_some(), event })
}

/// A body in our own form has `content` or `text`; any other is content as a whole.
fn generic(body: &Value, webhook: &str) -> NewEvent {
    let text = |name: &str| body.get(name).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned);
    let id = body.get("id").filter(|id| id.is_string() || id.is_number());
    let external_id =
        id.map(|id| id.as_str().map_or_else(|| id.to_string(), str::to_owned)).filter(|id| !id.is_empty());
    let spoken = text("content").or_else(|| text("text"));
    let from = if spoken.is_some() { text("from") } else { None };
    let from = from.unwrap_or_else(|| webhook.to_owned());
    let metadata = body.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default();
    let kind = text("type").map(|kind| ("type".to_owned(), Value::String(kind)));
    let Some(content) = spoken else {
        return NewEvent {
            external_id,
            from,
            content: json_content(body),
            content_type: Some("json".to_owned()),
            metadata: kind.into_iter().collect(),
            ..NewEvent::default()
        };
    };
    NewEvent {
        external_id,
        from,
        peer_kind: text("peerKind").and_then(|word| PeerKind::of_word(&word)).unwrap_or_default(),
        peer_id: text("peerId"),
        thread_id: text("threadId"),
        content,
        content_type: text("contentType"),
        timestamp: body.get("timestamp").and_then(Value::as_u64),
        metadata: metadata.into_iter().chain(kind).collect(),
        ..NewEvent::default()
    }
}

/// A delivery of GitHub: who did something, in which repository, about which issue or pull request.
fn github(request: &RawRequest, body: &Value) -> Option<NewEvent> {
    let text = |pointer: &str| body.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    let from = text("/sender/login")?;
    let number = |name: &str| Some(format!("{name}/{}", body.pointer(&format!("/{name}/number"))?.as_u64()?));
    let repository = text("/repository/full_name");
    let named = [("event", request.header("x-github-event").map(str::to_owned)), ("action", text("/action"))];
    let known = named.into_iter().filter_map(|(name, value)| Some((name.to_owned(), Value::String(value?))));
    Some(NewEvent {
        from,
        peer_kind: if repository.is_some() { PeerKind::Group } else { PeerKind::Dm },
        peer_id: repository,
        thread_id: number("pull_request").or_else(|| number("issue")),
        content: json_content(body),
        content_type: Some("json".to_owned()),
        metadata: Map::from_iter([("github".to_owned(), Value::Object(known.collect()))]),
        ..NewEvent::default()
    })
}

/// A message that Slack's Events API tells of.
fn slack(body: &Value) -> Option<NewEvent> {
    let text = |pointer: &str| body.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    let from = text("/event/user").or_else(|| text("/event/bot_id"))?;
    let is_direct = text("/event/channel_type").as_deref() == Some("im");
    let kept =
        ["team_id", "api_app_id"].into_iter().filter_map(|name| Some((name.to_owned(), body.get(name)?.clone())));
    let kind = text("/event/type").map(|kind| ("type".to_owned(), Value::String(kind)));
    Some(NewEvent {
        external_id: text("/event_id"),
        from,
        peer_kind: if is_direct { PeerKind::Dm } else { PeerKind::Group },
        peer_id: text("/event/channel"),
        thread_id: text("/event/thread_ts"),
        content: text("/event/text").unwrap_or_default(),
        timestamp: body.get("event_time").and_then(Value::as_u64).map(|seconds| seconds.saturating_mul(1_000)),
        metadata: Map::from_iter([("slack".to_owned(), Value::Object(kept.chain(kind).collect()))]),
        ..NewEvent::default()
    })
}

/// What Slack wants back when it asks whether an address is ours.
pub(super) fn slack_challenge(request: &RawRequest) -> Option<String> {
    let body: Value = serde_json::from_slice(&request.body).ok()?;
    let asks = body.get("type").and_then(Value::as_str) == Some("url_verification");
    asks.then(|| body.get("challenge")?.as_str().map(str::to_owned)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(scheme: SignatureScheme, headers: &[(&str, &str)], body: &Value) -> ReadEvent {
        let webhook = WebhookSettings {
            name: "ci".to_owned(),
            scheme,
            secrets: Vec::new(),
            header: None,
            tolerance_s: 300,
            reply_url: None,
        };
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_vec())).collect();
        let request = RawRequest { headers, body: body.to_string().into_bytes(), ..RawRequest::default() };
        read_events(&request, &webhook).unwrap().remove(0)
    }

    #[test]
    fn our_own_form_is_read_field_by_field_and_any_other_as_a_whole() {
        let sent = json!({"id": 7, "content": "hi", "from": "ann", "peerKind": "group", "peerId": "g", "threadId": "t",
            "timestamp": 5, "metadata": {"a": 1}, "type": "note"});
        let read_event = read(SignatureScheme::None, &[], &sent);
        let event = &read_event.event;
        assert!(read_event.is_named);
        assert_eq!((event.channel.as_str(), event.account_id.as_str()), ("webhook", "ci"));
        assert_eq!((event.external_id.as_deref(), event.from.as_str()), (Some("7"), "ann"));
        assert_eq!((event.peer_kind, event.peer_id.as_deref()), (PeerKind::Group, Some("g")));
        assert_eq!(event.metadata, json!({"a": 1, "type": "note"}).as_object().unwrap().clone());
        let other = read(SignatureScheme::Hmac, &[], &json!({"from": "x", "ok": true}));
        assert!(!other.is_named);
        assert_eq!((other.event.from.as_str(), other.event.content_type.as_deref()), ("ci", Some("json")));
        let named = read(SignatureScheme::Standard, &[("webhook-id", "msg_1")], &json!([1]));
        assert_eq!(named.event.external_id.as_deref(), Some("msg_1"));
    }

    #[test]
    fn github_and_slack_say_who_and_where() {
        let body = json!({"action": "opened", "pull_request": {"number": 3}, "sender": {"login": "ann"},
            "repository": {"full_name": "o/r"}});
        let headers = [("x-github-event", "pull_request"), ("x-github-delivery", "d-1")];
        let event = read(SignatureScheme::Github, &headers, &body).event;
        assert_eq!((event.from.as_str(), event.peer_id.as_deref()), ("ann", Some("o/r")));
        assert_eq!((event.thread_id.as_deref(), event.external_id.as_deref()), (Some("pull_request/3"), Some("d-1")));
        assert_eq!(event.metadata["github"], json!({"event": "pull_request", "action": "opened"}));
        let body = json!({"event_id": "Ev1", "event_time": 9, "event": {"type": "message", "user": "U1", "text": "hi",
            "channel": "D1", "channel_type": "im"}});
        let event = read(SignatureScheme::Slack, &[], &body).event;
        assert_eq!((event.from.as_str(), event.content.as_str(), event.peer_kind), ("U1", "hi", PeerKind::Dm));
        assert_eq!((event.external_id.as_deref(), event.timestamp), (Some("Ev1"), Some(9_000)));
    }

    #[test]
    fn a_reply_of_ours_that_comes_back_is_recognised() {
        let event = read(SignatureScheme::None, &[(ORIGIN_HEADER, "mail:a b 3")], &json!({"x": 1})).event;
        assert_eq!(event.origin, Some(EventOrigin { event: "mail:a b".to_owned(), hops: 3 }));
    }

    #[test]
    fn a_body_that_is_no_json_is_refused_with_the_place() {
        assert!(parse_json(b"{\"a\": ").unwrap_err().to_string().contains("line 1"));
        assert!(parse_json(b"{\"a\": \"\xff\"}").unwrap_err().to_string().contains("UTF-8 at byte 7"));
    }
}
