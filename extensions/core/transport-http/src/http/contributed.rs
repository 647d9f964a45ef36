//! Serves the routes that other extensions contribute, looked up for each request: a disabled extension has none.

use super::connection::ServerShared;
use super::input::read_body;
use crate::refusal::Refusal;
use crate::settings::MAX_BODY_BYTES;
use axum::Json;
use axum::extract::{Query, Request, State};
use dispatch_contracts::contribution::Route;
use dispatch_kernel::host::Owned;
use dispatch_os::paths::percent_decoded;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// How long a contributed route may take.
const ROUTE_TIMEOUT_MS: u64 = 60_000;

/// Answers from the first contributed route that fits.
pub(super) async fn serve(State(shared): State<Arc<ServerShared>>, request: Request) -> Result<Json<Value>, Refusal> {
    let routes = shared.services.extensions()?.routes();
    let Some((route, path)) = find(&routes, request.method().as_str(), request.uri().path()) else {
        return Err(Refusal::not_found("nothing is served at this path").hint("/openapi.json lists what is served"));
    };
    let query: BTreeMap<String, String> =
        Query::try_from_uri(request.uri()).map(|Query(query)| query).unwrap_or_default();
    let bytes = read_body(request, MAX_BODY_BYTES).await?;
    let body: Value = if bytes.is_empty() {
        Value::Null
    } else {
        serde_json::from_slice(&bytes).map_err(|error| Refusal::invalid(format!("invalid body: {error}")))?
    };
    let answer = (route.item.respond)(json!({"path": path, "query": query, "body": body}));
    match tokio::time::timeout(Duration::from_millis(ROUTE_TIMEOUT_MS), answer).await {
        Ok(Ok(value)) => Ok(Json(value)),
        Ok(Err(error)) => Err(Refusal::internal(format!("extension `{}`: {error}", route.owner))),
        Err(_) => Err(Refusal::busy(format!(
            "extension `{}` did not answer within {} s",
            route.owner,
            ROUTE_TIMEOUT_MS / 1_000
        ))),
    }
}

fn find<'a>(routes: &'a [Owned<Route>], method: &str, path: &str) -> Option<(&'a Owned<Route>, Map<String, Value>)> {
    let of_method = routes.iter().filter(|route| route.item.method.eq_ignore_ascii_case(method));
    of_method.filter_map(|route| Some((route, placeholders(route.item.path, path)?))).next()
}

/// The values of a pattern's `{placeholders}` in a path; `None` when the path does not fit.
fn placeholders(pattern: &str, path: &str) -> Option<Map<String, Value>> {
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
