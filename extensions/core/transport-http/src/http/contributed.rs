//! Serves the routes that other extensions contribute, looked up for each request: a disabled extension has none.

use super::connection::ServerShared;
use super::input::read_body;
use super::raw;
use crate::guard::shown_token;
use crate::refusal::Refusal;
use crate::settings::MAX_BODY_BYTES;
use axum::Json;
use axum::extract::{Query, Request, State};
use axum::http::StatusCode;
use axum::http::header::{HeaderValue, RETRY_AFTER};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use dispatch_contracts::contribution::Route;
use dispatch_kernel::host::{ExtensionHost, Owned};
use dispatch_os::paths::percent_decoded;
use futures_util::{Stream, StreamExt, stream};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

/// What an answer says beside its body.
const STATUS: &str = "$status";
const EVENTS: &str = "$events";
const NEXT: &str = "$next";
/// When another try may work, in seconds.
const RETRY_AFTER_S: &str = "1";
/// How long a contributed route may take.
pub(super) const ROUTE_TIMEOUT_MS: u64 = 60_000;

/// Answers from the first contributed route that fits.
pub(super) async fn serve(State(shared): State<Arc<ServerShared>>, request: Request) -> Result<Response, Refusal> {
    if let Some((route, path)) = raw::find(&shared, request.method().as_str(), request.uri().path()) {
        return raw::serve(&route, path, request).await;
    }
    let extensions = shared.services.extensions()?;
    let Some((route, path)) = find(&extensions, request.method().as_str(), request.uri().path()) else {
        return Err(Refusal::not_found("nothing is served at this path").hint("/openapi.json lists what is served"));
    };
    let query: BTreeMap<String, String> =
        Query::try_from_uri(request.uri()).map(|Query(query)| query).unwrap_or_default();
    let is_approver = shown_token(request.headers()).is_some_and(|token| shared.token.may_answer(token));
    let bytes = read_body(request, MAX_BODY_BYTES).await?;
    let asked = || -> Result<Value, Refusal> {
        let body = read_json(&bytes)?;
        Ok(Value::Object(Map::from_iter([
            ("path".to_owned(), Value::Object(path.clone())),
            ("query".to_owned(), json!(query)),
            ("body".to_owned(), body),
            ("isApprover".to_owned(), is_approver.into()),
        ])))
    };
    let value = ask(&route.item, &route.owner.to_string(), asked()?).await?;
    if value.get(EVENTS).is_some() {
        return Ok(events(route.item.clone(), route.owner.to_string(), asked()?, value));
    }
    Ok(plain(value))
}

fn read_json(bytes: &[u8]) -> Result<Value, Refusal> {
    if bytes.is_empty() {
        return Ok(Value::Null);
    }
    serde_json::from_slice(bytes).map_err(|error| Refusal::invalid(format!("invalid body: {error}")))
}

/// What a route answers, in time.
async fn ask(route: &Route, owner: &str, asked: Value) -> Result<Value, Refusal> {
    match tokio::time::timeout(Duration::from_millis(ROUTE_TIMEOUT_MS), (route.respond)(asked)).await {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(Refusal::internal(format!("extension `{owner}`: {error}"))),
        Err(_) => {
            Err(Refusal::busy(format!("extension `{owner}` did not answer within {} s", ROUTE_TIMEOUT_MS / 1_000)))
        }
    }
}

/// One answer, with the status that it names.
fn plain(mut value: Value) -> Response {
    let status = value.as_object_mut().and_then(|fields| fields.remove(STATUS));
    let status = status.and_then(|status| StatusCode::from_u16(u16::try_from(status.as_u64()?).ok()?).ok());
    let mut answer = (status.unwrap_or(StatusCode::OK), Json(value)).into_response();
    if answer.status() == StatusCode::SERVICE_UNAVAILABLE {
        answer.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static(RETRY_AFTER_S));
    }
    answer
}

/// Where a stream is.
enum StreamStep {
    /// This is to be sent.
    Send(Value),
    /// The route is to be asked how it goes on from here.
    Ask(Value),
}

/// A stream: the route is asked again for as long as it says how to go on. A client that leaves ends it.
fn events(route: Route, owner: String, asked: Value, first: Value) -> Response {
    let sent = answers(route, owner, asked, first).map(|answer| stream::iter(server_events(&answer)));
    Sse::new(sent.flatten()).keep_alive(KeepAlive::default()).into_response()
}

/// The answers of a route one after the other: each is given out before the next is asked for, which may take its time.
fn answers(route: Route, owner: String, asked: Value, first: Value) -> impl Stream<Item = Value> {
    stream::unfold(Some(StreamStep::Send(first)), move |step| {
        let (route, owner, mut asked) = (route.clone(), owner.clone(), asked.clone());
        async move {
            let answer = match step? {
                StreamStep::Send(answer) => answer,
                StreamStep::Ask(next) => {
                    if let Some(fields) = asked.as_object_mut() {
                        fields.insert("next".to_owned(), next);
                    }
                    ask(&route, &owner, asked).await.ok()?
                }
            };
            let next = answer.get(NEXT).cloned().map(StreamStep::Ask);
            Some((answer, next))
        }
    })
}

fn server_events(answer: &Value) -> Vec<Result<Event, Infallible>> {
    let listed = answer.get(EVENTS).and_then(Value::as_array).into_iter().flatten();
    let event = |one: &Value| {
        let name = one.get("event").and_then(Value::as_str).unwrap_or("message").replace(['\n', '\r'], " ");
        let event = Event::default().event(name).data(one.get("data").cloned().unwrap_or_default().to_string());
        match one.get("id").and_then(Value::as_str) {
            Some(id) if !id.contains(['\n', '\r', '\0']) => event.id(id),
            _ => event,
        }
    };
    listed.map(|one| Ok(event(one))).collect()
}

/// The route that answers a request, with the values of its placeholders.
fn find(extensions: &ExtensionHost, method: &str, path: &str) -> Option<(Owned<Route>, Map<String, Value>)> {
    let route = extensions.route_for(method, path)?;
    placeholders(&route.item.path, path).map(|values| (route, values))
}

/// The values of a pattern's `{placeholders}` in a path; `None` when the path does not fit.
pub(super) fn placeholders(pattern: &str, path: &str) -> Option<Map<String, Value>> {
    let (mut wanted, mut given) = (pattern.split('/'), path.split('/'));
    let mut found = Map::new();
    loop {
        match (wanted.next(), given.next()) {
            (None, None) => return Some(found),
            (Some(part), Some(value)) => match part.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
                Some(name) if !value.is_empty() => {
                    found.insert(name.to_owned(), percent_decoded(value)?.into());
                }
                None if part == value => {}
                _ => return None,
            },
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dispatch_contracts::BoxFuture;
    use dispatch_contracts::hook::HandlerError;
    use futures_util::FutureExt;
    use std::sync::atomic::{AtomicU64, Ordering};

    /// A route that has so many answers at once and takes for ever over the next.
    fn route_with(ready: u64) -> Route {
        let given = AtomicU64::new(0);
        let respond = move |asked: Value| -> BoxFuture<'static, Result<Value, HandlerError>> {
            if given.fetch_add(1, Ordering::Relaxed) >= ready {
                return Box::pin(std::future::pending());
            }
            let number = asked.get("next").and_then(Value::as_u64).unwrap_or_default();
            Box::pin(std::future::ready(Ok(json!({ "$events": [{ "data": number }], "$next": number + 1 }))))
        };
        let (method, path, summary) = ("GET".into(), "/v1/notes".into(), "Notes.".into());
        Route { method, path, summary, respond: Arc::new(respond) }
    }

    #[tokio::test]
    async fn what_a_stream_has_is_sent_before_it_is_known_what_follows() {
        let first = json!({ "$events": [{ "data": 0 }], "$next": 1 });
        let sent = answers(route_with(2), "notes".to_owned(), json!({}), first);
        let mut sent = std::pin::pin!(sent);
        let numbers: Vec<u64> = std::iter::from_fn(|| sent.next().now_or_never().flatten())
            .filter_map(|answer| answer.pointer("/$events/0/data").and_then(Value::as_u64))
            .collect();
        assert_eq!(numbers, [0, 1, 2]);
    }

    #[test]
    fn patterns_fit_whole_paths_and_give_their_values() {
        for (pattern, path, expected) in [
            ("/v1/notes", "/v1/notes", Some(json!({}))),
            ("/v1/notes/{id}", "/v1/notes/7", Some(json!({"id": "7"}))),
            ("/v1/{a}/x/{b}", "/v1/one/x/two%2Fthree", Some(json!({"a": "one", "b": "two/three"}))),
            ("/v1/notes/{id}", "/v1/notes/", None),
            ("/v1/notes/{id}", "/v1/notes", None),
            ("/v1/notes/{id}", "/v1/notes/7/more", None),
            ("/v1/notes/{id}", "/v1/notes/%zz", None),
            ("/v1/notes/{id}", "/v1/notes/%ff", None),
            ("/v1/notes/{id}", "/v1/notes/%2", None),
        ] {
            let found = placeholders(pattern, path).map(Value::Object);
            assert_eq!(found, expected, "{pattern} on {path}");
        }
    }
}
