//! What is stored of a new event: checked, with defaults, and without secrets.
//!
//! Pure.

use crate::contract::{EventOrigin, LedgerError, NewEvent, PeerKind};
use dispatch_os::digest::{hex, sha256};
use dispatch_redact::Redactor;
use serde_json::{Map, Value};
use std::borrow::Cow;

/// The longest name of a channel.
const MAX_CHANNEL_BYTES: usize = 64;
/// The longest name of an account.
const MAX_ACCOUNT_BYTES: usize = 200;
/// The longest external id, sender, peer or thread.
const MAX_NAME_BYTES: usize = 800;
/// The longest content.
pub(crate) const MAX_CONTENT_BYTES: usize = 4 * 1024 * 1024;
/// The most metadata, as JSON.
const MAX_METADATA_BYTES: usize = 1024 * 1024;
/// The most participants that are stored.
const MAX_PARTICIPANTS: usize = 1_000;
/// How many bytes of a hash stand for a name that is a secret.
const HASH_BYTES: usize = 16;

/// An event that can be stored as it is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PreparedEvent {
    pub(crate) channel: String,
    pub(crate) account: String,
    pub(crate) external_id: String,
    pub(crate) sender: String,
    pub(crate) peer_kind: PeerKind,
    pub(crate) peer: String,
    pub(crate) thread: Option<String>,
    pub(crate) content: String,
    pub(crate) content_type: String,
    pub(crate) sent_at: u64,
    pub(crate) received_at: u64,
    pub(crate) metadata: Map<String, Value>,
    pub(crate) participants: Vec<String>,
    pub(crate) origin: Option<EventOrigin>,
}

/// Checks an event and takes its secrets out. `fresh_id` is its external id if it has none.
pub(crate) fn prepare(
    event: NewEvent,
    redactor: &Redactor,
    now_ms: u64,
    fresh_id: impl FnOnce() -> String,
) -> Result<PreparedEvent, LedgerError> {
    let name = |field, text: String| checked_name(redactor, field, text);
    check_channel(&event.channel)?;
    let account = if event.account_id.is_empty() { "default".to_owned() } else { event.account_id };
    if account.len() > MAX_ACCOUNT_BYTES {
        return Err(too_long("accountId", MAX_ACCOUNT_BYTES));
    }
    let sender = name("from", event.from)?;
    if event.content.len() > MAX_CONTENT_BYTES {
        return Err(too_long("content", MAX_CONTENT_BYTES));
    }
    let metadata = clean_metadata(redactor, event.metadata);
    if Value::Object(metadata.clone()).to_string().len() > MAX_METADATA_BYTES {
        return Err(too_long("metadata", MAX_METADATA_BYTES));
    }
    let content_type = event.content_type.unwrap_or_else(|| "text".to_owned());
    let mut participants: Vec<String> = event.participants.into_iter().take(MAX_PARTICIPANTS).collect();
    participants.retain(|one| !one.is_empty());
    Ok(PreparedEvent {
        account: name("accountId", account)?,
        external_id: name("id", event.external_id.unwrap_or_else(fresh_id))?,
        peer_kind: event.peer_kind,
        peer: event.peer_id.map_or_else(|| Ok(sender.clone()), |peer| name("peerId", peer))?,
        thread: event.thread_id.map(|thread| name("threadId", thread)).transpose()?,
        content: clean_content(redactor, storable(event.content), content_type == "json"),
        content_type: name("contentType", content_type)?,
        sent_at: event.timestamp.unwrap_or(now_ms),
        received_at: now_ms,
        participants: participants.into_iter().map(|one| name("participants", one)).collect::<Result<_, _>>()?,
        origin: event.origin,
        channel: event.channel,
        metadata,
        sender,
    })
}

/// A channel is a word, since it begins the ids of its events and ends at the first colon.
pub(crate) fn check_channel(channel: &str) -> Result<(), LedgerError> {
    let fits = |sign: char| sign.is_ascii_lowercase() || sign.is_ascii_digit() || sign == '-' || sign == '_';
    if channel.is_empty() || channel.len() > MAX_CHANNEL_BYTES || !channel.chars().all(fits) {
        let shown: String = channel.chars().filter(|sign| !sign.is_control()).take(MAX_CHANNEL_BYTES).collect();
        let problem = format!("`{shown}` is not made of lower-case letters, digits, `-` and `_`");
        return Err(LedgerError::Invalid { field: "channel", problem });
    }
    Ok(())
}

/// A name as it is stored. One that is itself a secret is known by its hash, so that repetitions are still found.
fn checked_name(redactor: &Redactor, field: &'static str, text: String) -> Result<String, LedgerError> {
    if text.is_empty() {
        return Err(LedgerError::Invalid { field, problem: "it is empty".to_owned() });
    }
    if text.len() > MAX_NAME_BYTES {
        return Err(too_long(field, MAX_NAME_BYTES));
    }
    if text.chars().any(char::is_control) {
        return Err(LedgerError::Invalid { field, problem: "it contains a control character".to_owned() });
    }
    Ok(match redactor.redact(&text) {
        Cow::Borrowed(_) => text,
        Cow::Owned(_) => hidden(&text),
    })
}

fn hidden(text: &str) -> String {
    format!("hidden-{}", hex(sha256(text.as_bytes()).into_iter().take(HASH_BYTES)))
}

fn too_long(field: &'static str, limit: usize) -> LedgerError {
    LedgerError::Invalid { field, problem: format!("it is longer than {limit} bytes") }
}

/// A database server stores no NUL in a text.
fn storable(text: String) -> String {
    if text.contains('\0') { text.replace('\0', "\u{fffd}") } else { text }
}

fn clean(redactor: &Redactor, text: String) -> String {
    match redactor.redact(&text) {
        Cow::Borrowed(_) => text,
        Cow::Owned(redacted) => redacted,
    }
}

/// What is JSON stays JSON, so that a hook can read it.
fn clean_content(redactor: &Redactor, content: String, is_json: bool) -> String {
    if !is_json || matches!(redactor.redact(&content), Cow::Borrowed(_)) {
        return clean(redactor, content);
    }
    match serde_json::from_str(&content) {
        Ok(value) => {
            let cleaned = clean_metadata(redactor, Map::from_iter([("content".to_owned(), value)]));
            let cleaned = cleaned.get("content").cloned().unwrap_or_default();
            clean(redactor, serde_json::to_string_pretty(&cleaned).unwrap_or_default())
        }
        Err(_) => clean(redactor, content),
    }
}

fn clean_metadata(redactor: &Redactor, metadata: Map<String, Value>) -> Map<String, Value> {
    let mut metadata = metadata.into_iter().map(|(name, value)| (storable(name), storable_value(value))).collect();
    redactor.redact_json(&mut metadata);
    match metadata {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

fn storable_value(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(storable(text)),
        Value::Array(items) => items.into_iter().map(storable_value).collect(),
        Value::Object(map) => map.into_iter().map(|(name, value)| (storable(name), storable_value(value))).collect(),
        plain @ (Value::Null | Value::Bool(_) | Value::Number(_)) => plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dispatch_redact::{Options, UserPattern};
    use serde_json::json;

    fn redactor() -> Redactor {
        let patterns = vec![UserPattern::new("acme", "ACME-[0-9]+")];
        Redactor::new(Options { patterns, ..Options::default() }).unwrap()
    }

    fn event() -> NewEvent {
        NewEvent { channel: "cli".to_owned(), from: "me".to_owned(), ..NewEvent::default() }
    }

    fn prepared(event: NewEvent) -> Result<PreparedEvent, LedgerError> {
        prepare(event, &redactor(), 7, || "fresh".to_owned())
    }

    #[test]
    fn what_is_not_named_has_a_default() {
        let made = prepared(event()).unwrap();
        assert_eq!((made.account.as_str(), made.peer.as_str(), made.external_id.as_str()), ("default", "me", "fresh"));
        assert_eq!((made.content_type.as_str(), made.sent_at, made.received_at), ("text", 7, 7));
    }

    #[test]
    fn no_secret_is_left_anywhere() {
        let metadata = json!({"ACME-1": {"deep": ["say ACME-2"]}, "password": "hunter2hunter2", "n": 1});
        let made = prepared(NewEvent {
            from: "ACME-3".to_owned(),
            external_id: Some("ACME-4".to_owned()),
            peer_id: Some("ACME-5".to_owned()),
            thread_id: Some("ACME-6".to_owned()),
            content: "use ACME-7\0now".to_owned(),
            participants: vec!["ACME-8".to_owned(), String::new()],
            metadata: metadata.as_object().unwrap().clone(),
            ..event()
        })
        .unwrap();
        let shown = format!("{made:?}");
        assert!(!shown.contains("ACME-") && !shown.contains("hunter2") && !shown.contains("\\0"), "{shown}");
        assert_eq!(made.metadata["n"], 1);
        let content = r#"{"token": "hunter2hunter2", "say": "a \"ACME-9\""}"#.to_owned();
        let json = prepared(NewEvent { content, content_type: Some("json".to_owned()), ..event() }).unwrap();
        assert!(!json.content.contains("hunter2") && !json.content.contains("ACME-"), "{}", json.content);
        assert!(serde_json::from_str::<Value>(&json.content).unwrap()["say"].is_string());
        let again = prepared(NewEvent { external_id: Some("ACME-4".to_owned()), ..event() }).unwrap();
        assert_eq!(made.external_id, again.external_id, "a repetition is still found");
        let other = prepared(NewEvent { external_id: Some("ACME-44".to_owned()), ..event() }).unwrap();
        assert_ne!(made.external_id, other.external_id);
    }

    #[test]
    fn what_is_malformed_is_refused_with_its_name() {
        let field = |event: NewEvent| match prepared(event) {
            Err(LedgerError::Invalid { field, .. }) => field,
            other => panic!("{other:?}"),
        };
        for channel in ["", "Mail", "a:b", "a b", &"x".repeat(65)] {
            assert_eq!(field(NewEvent { channel: channel.to_owned(), ..event() }), "channel", "{channel}");
        }
        assert_eq!(field(NewEvent { from: String::new(), ..event() }), "from");
        assert_eq!(field(NewEvent { external_id: Some("a\nb".to_owned()), ..event() }), "id");
        assert_eq!(field(NewEvent { thread_id: Some("x".repeat(801)), ..event() }), "threadId");
        assert_eq!(field(NewEvent { content: "x".repeat(MAX_CONTENT_BYTES + 1), ..event() }), "content");
        let large = Map::from_iter([("a".to_owned(), "x y ".repeat(MAX_METADATA_BYTES / 4).into())]);
        assert_eq!(field(NewEvent { metadata: large, ..event() }), "metadata");
    }
}
