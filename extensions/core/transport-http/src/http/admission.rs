//! Admits or refuses every request before anything else looks at it.

use super::connection::{ClientConnection, ServerShared, lock};
use super::raw;
use crate::guard::{RequestOrigin, check_host, check_origin, shown_token};
use crate::refusal::{ErrorBody, Refusal};
use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::header::{self, HeaderName, HeaderValue};
use http::{Method, StatusCode};
use std::sync::Arc;

/// The one path that needs no token.
pub(super) const HEALTH: &str = "/healthz";

/// Whether a path is served only to clients with the token.
pub(super) fn needs_token(path: &str) -> bool {
    path != HEALTH
}

/// The longest URL, query included.
const MAX_URI_BYTES: usize = 16 * 1024;

const ALLOWED_HEADERS: &str = "authorization, content-type, last-event-id, x-dispatch-session, x-dispatch-ask";
const ALLOWED_METHODS: &str = "GET, POST, PATCH, DELETE";
const EXPOSED_HEADERS: &str = "x-dispatch-session, x-dispatch-id, retry-after";
const PREFLIGHT_SECONDS: &str = "600";

/// Checks the head of a request, then lets it through or answers it.
pub(super) async fn guard(State(shared): State<Arc<ServerShared>>, request: Request, next: Next) -> Response {
    let (response, caller) = match admit(&shared, &request) {
        Ok((RequestOrigin::Named(origin), true)) => (StatusCode::NO_CONTENT.into_response(), Some(origin)),
        Ok((caller, _)) => {
            let origin = match caller {
                RequestOrigin::Named(origin) => Some(origin),
                RequestOrigin::Own => None,
            };
            (next.run(request).await, origin)
        }
        Err(refusal) => (refusal.into_response(), None),
    };
    finish(&shared, response, caller)
}

/// Whether the request may pass, and whether it only asks if another one may.
fn admit(shared: &ServerShared, request: &Request) -> Result<(RequestOrigin, bool), Refusal> {
    if request.uri().path_and_query().is_some_and(|uri| uri.as_str().len() > MAX_URI_BYTES) {
        return Err(Refusal::new(StatusCode::URI_TOO_LONG, "too_large", "the URL is longer than 16 KiB"));
    }
    let headers = request.headers();
    let host = check_host(headers, request.uri().authority(), &shared.hosts).map_err(|why| {
        Refusal::forbidden(why).hint("use the address that the server listens on, or `allowed_hosts`")
    })?;
    let caller = check_origin(headers, &host, &shared.origins)
        .map_err(|why| Refusal::forbidden(why).hint("`allowed_origins` names the pages that may"))?;
    let asks_first = request.method() == Method::OPTIONS && headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
    if asks_first && matches!(caller, RequestOrigin::Named(_)) {
        return Ok((caller, true));
    }
    if needs_token(request.uri().path()) {
        check_client(shared, request)?;
    }
    Ok((caller, false))
}

fn check_client(shared: &ServerShared, request: &Request) -> Result<(), Refusal> {
    let known = shown_token(request.headers()).is_some_and(|token| shared.token.fits(token));
    let is_open = !known && raw::is_open(shared, request);
    let limit = match (known, is_open) {
        (true, _) => &shared.known,
        (false, true) => &shared.open_callers,
        (false, false) => &shared.strangers,
    };
    if let Some(client) = request.extensions().get::<ClientConnection>() {
        if known {
            client.place.mark_known();
        } else {
            client.place.mark_active();
        }
        let now_ms = shared.services.clock().monotonic_ms();
        lock(limit).take(client.peer.ip(), now_ms).map_err(|wait_ms| {
            Refusal::new(StatusCode::TOO_MANY_REQUESTS, "rate_limited", "too many requests").retry_after(wait_ms)
        })?;
    }
    if known || is_open {
        return Ok(());
    }
    let said = Refusal::new(StatusCode::UNAUTHORIZED, "unauthorized", "the request needs the server's token");
    Err(said.hint("send `Authorization: Bearer` with the content of the token file, which `dispatch serve` names"))
}

/// Notes what the client is not told, and says what browsers may do with the answer.
fn finish(shared: &ServerShared, mut response: Response, origin: Option<HeaderValue>) -> Response {
    if let Some(refusal) = response.extensions().get::<Refusal>() {
        shared.services.note(refusal);
    }
    let headers = response.headers_mut();
    let mut set = |name: HeaderName, value: &'static str| {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    };
    set(header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    set(header::CACHE_CONTROL, "no-store");
    set(header::REFERRER_POLICY, "no-referrer");
    if let Some(origin) = origin {
        set(header::ACCESS_CONTROL_ALLOW_HEADERS, ALLOWED_HEADERS);
        set(header::ACCESS_CONTROL_ALLOW_METHODS, ALLOWED_METHODS);
        set(header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED_HEADERS);
        set(header::ACCESS_CONTROL_MAX_AGE, PREFLIGHT_SECONDS);
        set(header::VARY, "origin");
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    }
    response
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let body = serde_json::to_string(&ErrorBody { error: &self }).unwrap_or_default();
        let mut response = Response::new(Body::from(body));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(ms) = self.retry_after_ms {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(ms.div_ceil(1_000).max(1)));
        }
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response.extensions_mut().insert(self);
        response
    }
}
