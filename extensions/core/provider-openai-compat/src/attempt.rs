//! One HTTP exchange with a model server.

use crate::client::{self, HttpClients};
use crate::credentials::SentCredential;
use crate::endpoint::Endpoint;
use crate::failure::{self, ErrorAnswer};
use dispatch_contracts::provider::{ProviderError, ProviderErrorKind};
use dispatch_http::root_cause;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION};
use reqwest::{Method, Response};

/// How much of an error answer is read.
pub(crate) const MAX_ERROR_BYTES: usize = 64 * 1024;

/// A request to a model server.
pub(crate) struct ServerRequest<'a> {
    pub(crate) method: Method,
    pub(crate) call: &'a str,
    pub(crate) body: Vec<u8>,
}

/// Sends a request and returns the answer if its status is a success.
pub(crate) async fn send(
    clients: &HttpClients,
    endpoint: &Endpoint,
    credential: &SentCredential,
    wanted: ServerRequest<'_>,
    now_ms: u64,
) -> Result<Response, ProviderError> {
    let server = endpoint.origin();
    let client = clients.for_endpoint(endpoint)?;
    let request = client
        .request(wanted.method, endpoint.url(wanted.call))
        .headers(headers(endpoint, credential)?)
        .body(wanted.body);
    let answer = request.send().await.map_err(|error| client::failed(&error, &server))?;
    if answer.status().is_success() {
        return Ok(answer);
    }
    Err(refused(answer, &server, &credential.secrets, now_ms).await)
}

/// The whole body of an answer, if it is not larger than `limit`.
pub(crate) async fn read_whole(mut answer: Response, limit: usize) -> Result<Vec<u8>, ProviderError> {
    let mut whole = Vec::new();
    let failed = |error: reqwest::Error| {
        let message = format!("the answer broke off: {}", root_cause(&error));
        ProviderError::new(ProviderErrorKind::Network, message)
    };
    while let Some(piece) = answer.chunk().await.map_err(failed)? {
        if whole.len() + piece.len() > limit {
            let message = format!("the answer is larger than {limit} bytes");
            return Err(ProviderError::new(ProviderErrorKind::BrokenStream, message));
        }
        whole.extend_from_slice(&piece);
    }
    Ok(whole)
}

fn headers(endpoint: &Endpoint, credential: &SentCredential) -> Result<HeaderMap, ProviderError> {
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream, application/json"));
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    for (name, value) in &endpoint.headers {
        let unfit = || {
            let message = format!("model.headers: `{name}` or its value cannot be sent as an HTTP header");
            ProviderError::new(ProviderErrorKind::InvalidRequest, message)
        };
        let value = HeaderValue::from_str(value).map_err(|_| unfit())?;
        headers.insert(HeaderName::from_bytes(name.as_bytes()).map_err(|_| unfit())?, value);
    }
    if let Some((name, value)) = &credential.header {
        headers.insert(name.clone(), value.clone());
    }
    Ok(headers)
}

async fn refused(mut answer: Response, server: &str, secrets: &[String], now_ms: u64) -> ProviderError {
    let status = answer.status().as_u16();
    let headers = answer.headers().clone();
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let mut body = Vec::new();
    // A body that breaks off is still worth its start.
    while let Ok(Some(piece)) = answer.chunk().await {
        body.extend_from_slice(piece.get(..MAX_ERROR_BYTES.saturating_sub(body.len())).unwrap_or(&piece));
        if body.len() >= MAX_ERROR_BYTES {
            break;
        }
    }
    let answered = ErrorAnswer {
        status,
        body: &String::from_utf8_lossy(&body),
        location: header(LOCATION.as_str()),
        retry_after_ms: failure::retry_after_ms(header("retry-after-ms"), header("retry-after"), now_ms),
        server,
    };
    failure::of_answer(&answered, secrets)
}
