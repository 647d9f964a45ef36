//! The requests that a client sends as JSON messages, read strictly.
//!
//! Pure.

use crate::approval_answer::ApprovalAnswerWire;
use crate::message::MessageWire;
use crate::refusal::Refusal;
use ext_session_orchestrator::contract::{ApprovalId, DispatchId};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// What is asked.
#[derive(Debug)]
pub(super) enum ChannelRequest {
    Subscribe { session: String, after: Option<u64> },
    Unsubscribe { session: String },
    Submit { session: String, message: MessageWire },
    Dispatch { dispatch: DispatchId },
    Cancel { dispatch: DispatchId },
    Answer { approval: ApprovalId, answer: ApprovalAnswerWire },
    Ping {},
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SubscribeWire {
    session: String,
    after: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SessionWire {
    session: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DispatchWire {
    dispatch: DispatchId,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NothingWire {}

/// Reads one message: the client's own name for the request, if that could be read, and the request.
pub(super) fn read(text: &str) -> (Value, Result<ChannelRequest, Refusal>) {
    let mut fields: Map<String, Value> = match serde_json::from_str(text) {
        Ok(fields) => fields,
        Err(error) => return (Value::Null, Err(Refusal::invalid(format!("expected a JSON object: {error}")))),
    };
    let reference = fields.remove("ref").unwrap_or_default();
    if !matches!(reference, Value::Null | Value::String(_) | Value::Number(_)) {
        return (Value::Null, Err(Refusal::invalid("`ref` must be a string or a number")));
    }
    (reference, request(fields))
}

fn request(mut fields: Map<String, Value>) -> Result<ChannelRequest, Refusal> {
    let Some(Value::String(kind)) = fields.remove("type") else {
        return Err(Refusal::invalid("the message has no `type`"));
    };
    Ok(match kind.as_str() {
        "subscribe" => {
            let SubscribeWire { session, after } = rest(fields)?;
            ChannelRequest::Subscribe { session, after }
        }
        "unsubscribe" => ChannelRequest::Unsubscribe { session: rest::<SessionWire>(fields)?.session },
        "submit" => {
            let Some(Value::String(session)) = fields.remove("session") else {
                return Err(Refusal::invalid("`submit` needs `session`, the label of a session"));
            };
            ChannelRequest::Submit { session, message: rest(fields)? }
        }
        "dispatch" => ChannelRequest::Dispatch { dispatch: rest::<DispatchWire>(fields)?.dispatch },
        "cancel" => ChannelRequest::Cancel { dispatch: rest::<DispatchWire>(fields)?.dispatch },
        "answer" => {
            let Some(Value::String(approval)) = fields.remove("approval") else {
                return Err(Refusal::invalid("`answer` needs `approval`, the id of a question"));
            };
            ChannelRequest::Answer { approval: ApprovalId(approval), answer: rest(fields)? }
        }
        "ping" => {
            let NothingWire {} = rest(fields)?;
            ChannelRequest::Ping {}
        }
        other => {
            let shown: String = other.chars().take(40).collect();
            let known = "subscribe, unsubscribe, submit, dispatch, cancel, answer, ping";
            return Err(
                Refusal::invalid(format!("unknown message type `{shown}`")).hint(format!("expected one of {known}"))
            );
        }
    })
}

fn rest<T: DeserializeOwned>(fields: Map<String, Value>) -> Result<T, Refusal> {
    serde_json::from_value(Value::Object(fields)).map_err(|error| Refusal::invalid(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read_strictly() {
        for good in [
            r#"{"type":"subscribe","session":"main","after":7}"#,
            r#"{"type":"subscribe","session":"main","ref":1}"#,
            r#"{"type":"submit","session":"main","text":"hi","mode":"steer","id":"x","ask":"none"}"#,
            r#"{"type":"cancel","dispatch":"d"}"#,
            r#"{"type":"answer","approval":"a","answer":"deny","reason":"no"}"#,
            r#"{"type":"ping","ref":"p"}"#,
        ] {
            assert!(read(good).1.is_ok(), "{good}: {:?}", read(good));
        }
        for (bad, reference, hint) in [
            ("", Value::Null, "expected a JSON object"),
            ("[1]", Value::Null, "expected a JSON object"),
            (r#"{"ref":3}"#, 3.into(), "has no `type`"),
            (r#"{"type":"fly","ref":"r"}"#, "r".into(), "unknown message type `fly`"),
            (r#"{"type":"submit","text":"hi"}"#, Value::Null, "the label of a session"),
            (r#"{"type":"submit","session":"s","text":"hi","extra":1}"#, Value::Null, "extra"),
            (r#"{"type":"submit","session":"s","text":"hi","mode":"later"}"#, Value::Null, "later"),
            (r#"{"type":"ping","ref":{}}"#, Value::Null, "string or a number"),
        ] {
            let (given, outcome) = read(bad);
            let refusal = outcome.unwrap_err();
            assert_eq!(given, reference, "{bad}");
            assert!(refusal.message.contains(hint), "{bad}: {}", refusal.message);
        }
    }
}
