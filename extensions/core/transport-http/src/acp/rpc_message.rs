//! JSON-RPC 2.0 messages: reading them, telling them apart, and the errors they are answered with.
//!
//! Pure.

use crate::refusal::Refusal;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// Why a request failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RpcError {
    pub(super) code: i32,
    pub(super) message: String,
}

impl RpcError {
    fn new(code: i32, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    pub(super) fn parse(message: impl Into<String>) -> Self {
        Self::new(-32_700, message)
    }

    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Self::new(-32_600, message)
    }

    pub(super) fn no_method(method: &str) -> Self {
        let shown: String = method.chars().take(60).collect();
        Self::new(-32_601, format!("unknown method `{shown}`"))
    }

    pub(super) fn params(message: impl Into<String>) -> Self {
        Self::new(-32_602, message)
    }

    pub(super) fn internal(message: impl Into<String>) -> Self {
        Self::new(-32_603, message)
    }

    pub(super) fn not_found(message: impl Into<String>) -> Self {
        Self::new(-32_002, message)
    }
}

impl From<Refusal> for RpcError {
    fn from(refusal: Refusal) -> Self {
        match refusal.status.as_u16() {
            400 | 409 | 413 => Self::params(refusal.message),
            404 => Self::not_found(refusal.message),
            _ => Self::internal(refusal.message),
        }
    }
}

/// What came from the client.
#[derive(Debug, PartialEq)]
pub(super) enum RpcMessage {
    Request { id: Value, method: String, params: Value },
    Notification { method: String, params: Value },
    Response { id: u64, result: Option<Value> },
    Broken { id: Value, error: RpcError },
}

/// Reads one message. One that is neither a request nor an answer is reported to its sender.
pub(super) fn read(text: &str) -> RpcMessage {
    let mut fields: Map<String, Value> = match serde_json::from_str(text) {
        Ok(fields) => fields,
        Err(error) => return RpcMessage::Broken { id: Value::Null, error: RpcError::parse(error.to_string()) },
    };
    let id = fields.remove("id");
    let params = fields.remove("params").unwrap_or_default();
    match (fields.remove("method"), id) {
        (Some(Value::String(method)), None) => RpcMessage::Notification { method, params },
        (Some(Value::String(method)), Some(id)) if matches!(id, Value::String(_) | Value::Number(_)) => {
            RpcMessage::Request { id, method, params }
        }
        (None, Some(Value::Number(id))) => match id.as_u64() {
            Some(id) => RpcMessage::Response { id, result: fields.remove("result") },
            None => {
                RpcMessage::Broken { id: Value::Null, error: RpcError::invalid("a response to an unknown request") }
            }
        },
        (_, id) => RpcMessage::Broken {
            id: id.unwrap_or_default(),
            error: RpcError::invalid("neither a request nor a response"),
        },
    }
}

/// Parameters as a type.
pub(super) fn typed<T: DeserializeOwned>(params: Value) -> Result<T, RpcError> {
    serde_json::from_value(params).map_err(|error| RpcError::params(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn messages_are_told_apart() {
        let request = RpcMessage::Request { id: 1.into(), method: "m".into(), params: json!({"a": 1}) };
        assert_eq!(read(r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":1}}"#), request);
        let request = RpcMessage::Request { id: "x".into(), method: "m".into(), params: Value::Null };
        assert_eq!(read(r#"{"id":"x","method":"m"}"#), request);
        assert_eq!(read(r#"{"method":"m"}"#), RpcMessage::Notification { method: "m".into(), params: Value::Null });
        assert_eq!(read(r#"{"id":4,"result":{}}"#), RpcMessage::Response { id: 4, result: Some(json!({})) });
        assert_eq!(read(r#"{"id":4,"error":{"code":1,"message":""}}"#), RpcMessage::Response { id: 4, result: None });
        for bad in ["", "[]", "{}", r#"{"id":null,"method":"m"}"#, r#"{"id":-1,"result":1}"#, r#"{"method":1}"#] {
            assert!(matches!(read(bad), RpcMessage::Broken { .. }), "{bad}");
        }
    }
}
