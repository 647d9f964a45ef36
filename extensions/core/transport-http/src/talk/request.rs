//! What a client asks for in a conversation of messages, read strictly.

use crate::desk::AnswerWord;
use crate::message::MessageWire;
use crate::refusal::Refusal;
use ext_session_orchestrator::contract::{ApprovalId, DispatchId};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// What is asked.
#[derive(Debug)]
pub(super) enum Request {
    Subscribe { session: String, after: Option<u64> },
    Unsubscribe { session: String },
    Submit { session: String, message: MessageWire },
    Dispatch { dispatch: DispatchId },
    Cancel { dispatch: DispatchId },
    Answer { approval: ApprovalId, answer: AnswerWord, reason: Option<String> },
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
struct AnsweredWire {
    approval: ApprovalId,
    answer: AnswerWord,
    reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NothingWire {}

/// Reads one message: the client's own name for the request, if that could be read, and the request.
pub(super) fn read(text: &str) -> (Value, Result<Request, Refusal>) {
    let mut fields: Map<String, Value> = match serde_json::from_str(text) {
        Ok(fields) => fields,
        Err(error) => return (Value::Null, Err(Refusal::invalid(format!("no JSON object: {error}")))),
    };
    let reference = fields.remove("ref").unwrap_or_default();
    if !matches!(reference, Value::Null | Value::String(_) | Value::Number(_)) {
        return (Value::Null, Err(Refusal::invalid("`ref` is a text or a number")));
    }
    (reference, request(fields))
}

fn request(mut fields: Map<String, Value>) -> Result<Request, Refusal> {
    let Some(Value::String(kind)) = fields.remove("type") else {
        return Err(Refusal::invalid("a message needs a `type`"));
    };
    Ok(match kind.as_str() {
        "subscribe" => {
            let SubscribeWire { session, after } = rest(fields)?;
            Request::Subscribe { session, after }
        }
        "unsubscribe" => Request::Unsubscribe { session: rest::<SessionWire>(fields)?.session },
        "submit" => {
            let Some(Value::String(session)) = fields.remove("session") else {
                return Err(Refusal::invalid("`submit` needs the label of a `session`"));
            };
            Request::Submit { session, message: rest(fields)? }
        }
        "dispatch" => Request::Dispatch { dispatch: rest::<DispatchWire>(fields)?.dispatch },
        "cancel" => Request::Cancel { dispatch: rest::<DispatchWire>(fields)?.dispatch },
        "answer" => {
            let AnsweredWire { approval, answer, reason } = rest(fields)?;
            Request::Answer { approval, answer, reason }
        }
        "ping" => {
            let NothingWire {} = rest(fields)?;
            Request::Ping {}
        }
        other => {
            let shown: String = other.chars().take(40).collect();
            let known = "subscribe, unsubscribe, submit, dispatch, cancel, answer and ping";
            return Err(Refusal::invalid(format!("there is no message `{shown}`")).hint(format!("there are {known}")));
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
            ("", Value::Null, "no JSON object"),
            ("[1]", Value::Null, "no JSON object"),
            (r#"{"ref":3}"#, 3.into(), "needs a `type`"),
            (r#"{"type":"fly","ref":"r"}"#, "r".into(), "no message `fly`"),
            (r#"{"type":"submit","text":"hi"}"#, Value::Null, "label of a `session`"),
            (r#"{"type":"submit","session":"s","text":"hi","extra":1}"#, Value::Null, "extra"),
            (r#"{"type":"submit","session":"s","text":"hi","mode":"later"}"#, Value::Null, "later"),
            (r#"{"type":"ping","ref":{}}"#, Value::Null, "text or a number"),
        ] {
            let (given, outcome) = read(bad);
            let refusal = outcome.unwrap_err();
            assert_eq!(given, reference, "{bad}");
            assert!(refusal.message.contains(hint), "{bad}: {}", refusal.message);
        }
    }
}
