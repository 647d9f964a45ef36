//! The HTTP routes of an extension: JSON in and out, or headers and bytes.

use crate::extension::{ActiveExtension, Invocation};
use crate::limits::ROUTE;
use crate::registered::RegisteredRoute;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dispatch_contracts::BoxFuture;
use dispatch_contracts::contribution::{RawRequest, RawResponse, RawRoute, Route};
use dispatch_contracts::extension::ExtensionError;
use dispatch_contracts::hook::HandlerError;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Adds a route.
pub(crate) fn define_route(active: &ActiveExtension, route: RegisteredRoute) -> Result<(), ExtensionError> {
    route.check().map_err(ExtensionError)?;
    let added = if route.raw {
        active.host.define_raw_route(raw(active, route).map_err(ExtensionError)?)
    } else {
        active.host.define_route(plain(active, route))
    };
    added.map(drop).map_err(ExtensionError::new)
}

async fn ask(active: &ActiveExtension, name: String, request: Value) -> Result<Value, HandlerError> {
    let place = format!("route {name}");
    let answer = active.invoke(&place, Invocation::new("route", name, request, ROUTE)).await;
    answer.map_err(|failure| HandlerError(failure.message))
}

fn plain(active: &ActiveExtension, route: RegisteredRoute) -> Route {
    let (active, name) = (active.clone(), route.name);
    let respond = Arc::new(move |request: Value| -> BoxFuture<'static, Result<Value, HandlerError>> {
        let (active, name) = (active.clone(), name.clone());
        Box::pin(async move { ask(&active, name, request).await })
    });
    Route { method: route.method.into(), path: route.path.into(), summary: route.description.into(), respond }
}

fn raw(active: &ActiveExtension, route: RegisteredRoute) -> Result<RawRoute, String> {
    let (access, max_body_bytes) = (route.access()?, route.max_body_bytes()?);
    let (active, name) = (active.clone(), route.name);
    let respond = Arc::new(move |request: RawRequest| -> BoxFuture<'static, Result<RawResponse, HandlerError>> {
        let (active, name) = (active.clone(), name.clone());
        Box::pin(async move { response(ask(&active, name, shown(&request)).await?) })
    });
    let (method, path, summary) = (route.method.into(), route.path.into(), route.description.into());
    Ok(RawRoute { method, path, summary, access, max_body_bytes, respond })
}

/// The request as the code sees it. A header that came twice is one text with commas, as `fetch` shows it.
fn shown(request: &RawRequest) -> Value {
    let mut headers: Map<String, Value> = Map::new();
    for (name, value) in &request.headers {
        let value = String::from_utf8_lossy(value);
        let joined = match headers.get(name).and_then(Value::as_str) {
            Some(before) => format!("{before}, {value}"),
            None => value.into_owned(),
        };
        headers.insert(name.clone(), joined.into());
    }
    json!({
        "path": request.path,
        "query": request.query,
        "headers": headers,
        "body": STANDARD.encode(&request.body),
        "text": String::from_utf8_lossy(&request.body),
    })
}

/// What the code answers.
#[derive(Deserialize)]
struct AnsweredResponse {
    status: u16,
    headers: BTreeMap<String, String>,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    bytes: Option<String>,
}

fn response(answer: Value) -> Result<RawResponse, HandlerError> {
    let wrong = |what: &dyn std::fmt::Display| HandlerError(format!("the answer of the route cannot be sent: {what}"));
    let answer: AnsweredResponse = serde_json::from_value(answer).map_err(|error| wrong(&error))?;
    let body = match (answer.text, answer.bytes) {
        (Some(text), _) => text.into_bytes(),
        (None, Some(bytes)) => STANDARD.decode(bytes).map_err(|error| wrong(&error))?,
        (None, None) => Vec::new(),
    };
    let headers = answer.headers.into_iter().collect();
    Ok(RawResponse { status: answer.status, headers, body, is_authentic: false })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_and_headers_come_through_both_ways() {
        let header = |name: &str, value: &[u8]| (name.to_owned(), value.to_vec());
        let headers = vec![header("accept", b"a"), header("accept", b"b"), header("x", b"1")];
        let request = RawRequest { headers, body: vec![0, 255, b'a'], ..RawRequest::default() };
        let seen = shown(&request);
        assert_eq!((&seen["headers"]["accept"], &seen["body"]), (&json!("a, b"), &json!("AP9h")));
        let answer = response(json!({ "status": 218, "headers": { "x": "y" }, "bytes": "AP9h" })).unwrap();
        assert_eq!((answer.status, answer.body), (218, vec![0, 255, b'a']));
        assert_eq!(answer.headers, [("x".to_owned(), "y".to_owned())]);
        assert!(response(json!({ "status": "fine", "headers": {} })).is_err());
    }
}
