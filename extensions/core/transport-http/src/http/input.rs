//! What a handler takes from a request: parameters of its head and a JSON body, bounded in size and time.

use super::connection::ClientConnection;
use crate::refusal::Refusal;
use crate::settings::BODY_TIMEOUT_MS;
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use bytes::Bytes;
use ext_session_orchestrator::contract::{ApprovalId, DispatchId};
use http::StatusCode;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderMap};
use http::request::Parts;
use serde::de::DeserializeOwned;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

/// Something read from the head of a request: a value of the path, the query, or headers.
pub(super) trait HeadInput: Sized {
    fn read(parts: &mut Parts) -> impl Future<Output = Result<Self, Refusal>> + Send;
}

/// Takes a [`HeadInput`].
pub(super) struct FromHead<T>(pub(super) T);

impl<T: HeadInput, S: Send + Sync> FromRequestParts<S> for FromHead<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Refusal> {
        T::read(parts).await.map(Self)
    }
}

/// A type that is read from the query string.
pub(super) trait QueryInput: DeserializeOwned + Send {}

impl<T: QueryInput> HeadInput for T {
    async fn read(parts: &mut Parts) -> Result<Self, Refusal> {
        match Query::<T>::try_from_uri(&parts.uri) {
            Ok(Query(value)) => Ok(value),
            Err(error) => Err(Refusal::invalid(format!("invalid query: {}", error.body_text()))),
        }
    }
}

/// The label of a session in the path.
pub(super) struct SessionLabel(pub(super) String);

impl HeadInput for SessionLabel {
    async fn read(parts: &mut Parts) -> Result<Self, Refusal> {
        path_value(parts).await.map(Self)
    }
}

/// The name of a command in the path.
pub(super) struct CommandName(pub(super) String);

impl HeadInput for CommandName {
    async fn read(parts: &mut Parts) -> Result<Self, Refusal> {
        path_value(parts).await.map(Self)
    }
}

impl HeadInput for DispatchId {
    async fn read(parts: &mut Parts) -> Result<Self, Refusal> {
        path_value(parts).await.map(Self::new)
    }
}

impl HeadInput for ApprovalId {
    async fn read(parts: &mut Parts) -> Result<Self, Refusal> {
        path_value(parts).await.map(Self)
    }
}

/// The one placeholder of a path, decoded.
async fn path_value(parts: &mut Parts) -> Result<String, Refusal> {
    match Path::<String>::from_request_parts(parts, &()).await {
        Ok(Path(value)) => Ok(value),
        Err(_) => Err(Refusal::invalid("the path is not valid UTF-8")),
    }
}

/// A JSON body of at most `LIMIT` bytes.
pub(super) struct JsonBody<T, const LIMIT: usize>(pub(super) T);

impl<T: DeserializeOwned, S: Send + Sync, const LIMIT: usize> FromRequest<S> for JsonBody<T, LIMIT> {
    type Rejection = Refusal;

    async fn from_request(request: Request, _state: &S) -> Result<Self, Refusal> {
        if !is_json(request.headers()) {
            let message = "the body must be JSON, with `Content-Type: application/json`";
            return Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", message));
        }
        let bytes = read_body(request, LIMIT).await?;
        let value =
            serde_json::from_slice(&bytes).map_err(|error| Refusal::invalid(format!("invalid body: {error}")))?;
        Ok(Self(value))
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let Some(kind) = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()) else { return false };
    kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
}

/// Reads a whole body. One that announces more than the limit is refused before a byte of it is read.
pub(super) async fn read_body(request: Request, limit: usize) -> Result<Bytes, Refusal> {
    let too_large = || {
        let message = format!("the body is larger than {} KiB", limit / 1024);
        Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", message)
    };
    let announced = request.headers().get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    if announced.is_some_and(|bytes| bytes > limit as u64) {
        return Err(too_large());
    }
    let room = request.extensions().get::<ClientConnection>().map(|client| Arc::clone(&client.input));
    let expected = announced.and_then(|bytes| usize::try_from(bytes).ok()).unwrap_or(limit);
    let reading = async {
        // Without room the body stays with its sender.
        let _held = match &room {
            Some(room) => Some(room.room_for_body(expected).await),
            None => None,
        };
        axum::body::to_bytes(request.into_body(), limit).await
    };
    match tokio::time::timeout(Duration::from_millis(BODY_TIMEOUT_MS), reading).await {
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(error)) if is_limit(&error) => Err(too_large()),
        Ok(Err(_)) => Err(Refusal::invalid("the body broke off")),
        Err(_) => {
            let message = format!("the body did not arrive within {} s", BODY_TIMEOUT_MS / 1_000);
            Err(Refusal::new(StatusCode::REQUEST_TIMEOUT, "timeout", message))
        }
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
