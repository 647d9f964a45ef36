//! JSON bodies, of bounded size and in bounded time, and queries, with errors that say what is wrong.

use crate::refusal::Refusal;
use crate::settings::BODY_TIMEOUT_MS;
use axum::extract::{FromRequest, FromRequestParts, Query, Request};
use bytes::Bytes;
use http::StatusCode;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderMap};
use http::request::Parts;
use serde::de::DeserializeOwned;
use std::time::Duration;

/// A JSON body of at most `LIMIT` bytes.
pub(super) struct Posted<T, const LIMIT: usize>(pub(super) T);

impl<T: DeserializeOwned, S: Send + Sync, const LIMIT: usize> FromRequest<S> for Posted<T, LIMIT> {
    type Rejection = Refusal;

    async fn from_request(request: Request, _state: &S) -> Result<Self, Refusal> {
        if !is_json(request.headers()) {
            let said = "the body must be JSON, with `Content-Type: application/json`";
            return Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", said));
        }
        let bytes = read(request, LIMIT).await?;
        let value = serde_json::from_slice(&bytes).map_err(|error| Refusal::invalid(format!("the body: {error}")))?;
        Ok(Self(value))
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let Some(kind) = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()) else { return false };
    kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
}

/// Reads a whole body. One that says it is too large is refused before a byte of it is read.
pub(super) async fn read(request: Request, limit: usize) -> Result<Bytes, Refusal> {
    let too_large = || {
        let said = format!("the body is larger than {} KiB", limit / 1024);
        Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", said)
    };
    let announced = request.headers().get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    if announced.is_some_and(|bytes| bytes > limit as u64) {
        return Err(too_large());
    }
    let reading = axum::body::to_bytes(request.into_body(), limit);
    match tokio::time::timeout(Duration::from_millis(BODY_TIMEOUT_MS), reading).await {
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(error)) if is_limit(&error) => Err(too_large()),
        Ok(Err(_)) => Err(Refusal::invalid("the body broke off")),
        Err(_) => Err(Refusal::new(StatusCode::REQUEST_TIMEOUT, "timeout", "the body took too long")),
    }
}

fn is_limit(error: &axum::Error) -> bool {
    let mut cause: Option<&dyn std::error::Error> = Some(error);
    while let Some(found) = cause {
        if found.to_string().contains("length limit exceeded") {
            return true;
        }
        cause = found.source();
    }
    false
}

/// A query string as a type.
pub(super) struct Asked<T>(pub(super) T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Asked<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Refusal> {
        match Query::<T>::try_from_uri(&parts.uri) {
            Ok(Query(value)) => Ok(Self(value)),
            Err(error) => Err(Refusal::invalid(format!("the query: {}", error.body_text()))),
        }
    }
}

/// A value of the path, decoded.
pub(super) struct Named(pub(super) String);

impl<S: Send + Sync> FromRequestParts<S> for Named {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        match axum::extract::Path::<String>::from_request_parts(parts, state).await {
            Ok(axum::extract::Path(name)) => Ok(Self(name)),
            Err(_) => Err(Refusal::invalid("the path is no UTF-8")),
        }
    }
}
