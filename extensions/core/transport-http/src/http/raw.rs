//! Serves the contributed routes that read headers and bytes themselves, and lets their callers in without the token
//! where a route finds out itself who calls.

use super::connection::{ClientConnection, ServerShared};
use super::contributed::{ROUTE_TIMEOUT_MS, placeholders};
use super::input::read_body;
use crate::refusal::Refusal;
use axum::body::Body;
use axum::extract::{Query, Request};
use axum::http::StatusCode;
use axum::http::header::{HeaderName, HeaderValue};
use axum::response::Response;
use dispatch_contracts::contribution::{RawRequest, RawResponse, RawRoute, RouteAccess};
use dispatch_kernel::host::Owned;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::time::Duration;

/// The raw route that answers a request, with the values of its placeholders.
pub(super) fn find(shared: &ServerShared, method: &str, path: &str) -> Option<(Owned<RawRoute>, Map<String, Value>)> {
    let route = shared.services.extensions().ok()?.raw_route_for(method, path)?;
    placeholders(&route.item.path, path).map(|values| (route, values))
}

/// Whether a request without the token goes to a route that finds out itself who calls.
pub(super) fn is_open(shared: &ServerShared, request: &Request) -> bool {
    let found = find(shared, request.method().as_str(), request.uri().path());
    found.is_some_and(|(route, _)| route.item.access == RouteAccess::Own)
}

/// Hands the request to the route, and its answer to the client.
pub(super) async fn serve(
    route: &Owned<RawRoute>,
    path: Map<String, Value>,
    request: Request,
) -> Result<Response, Refusal> {
    let client = request.extensions().get::<ClientConnection>().cloned();
    let query = Query::try_from_uri(request.uri()).map(|Query(query)| query).unwrap_or_default();
    let headers = request.headers().iter();
    let headers = headers.map(|(name, value)| (name.as_str().to_owned(), value.as_bytes().to_vec())).collect();
    let body = read_body(request, route.item.max_body_bytes).await?.to_vec();
    let path: BTreeMap<String, String> =
        path.into_iter().filter_map(|(name, value)| Some((name, value.as_str()?.to_owned()))).collect();
    let answering = (route.item.respond)(RawRequest { path, query, headers, body });
    match tokio::time::timeout(Duration::from_millis(ROUTE_TIMEOUT_MS), answering).await {
        Ok(Ok(answer)) => {
            if let (true, Some(client)) = (answer.is_authentic, client) {
                client.place.mark_known();
            }
            response(answer)
        }
        Ok(Err(error)) => Err(Refusal::internal(format!("extension `{}`: {error}", route.owner))),
        Err(_) => {
            let seconds = ROUTE_TIMEOUT_MS / 1_000;
            Err(Refusal::busy(format!("extension `{}` did not answer within {seconds} s", route.owner)))
        }
    }
}

fn response(answer: RawResponse) -> Result<Response, Refusal> {
    let wrong = |what: &str| Refusal::internal(format!("a route answered with an invalid {what}"));
    let mut response = Response::new(Body::from(answer.body));
    *response.status_mut() = StatusCode::from_u16(answer.status).map_err(|_| wrong("status"))?;
    for (name, value) in answer.headers {
        let name = HeaderName::try_from(name).map_err(|_| wrong("header"))?;
        response.headers_mut().insert(name, HeaderValue::try_from(value).map_err(|_| wrong("header"))?);
    }
    Ok(response)
}
