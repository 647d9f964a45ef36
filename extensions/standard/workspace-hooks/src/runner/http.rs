//! A prompt answered by a server: on this machine, or over an encrypted connection.

mod client;

use super::prompt::prompt;
use super::stop::or_stopped;
use super::{RunAttempt, ended, event_json, failed};
use crate::contract::Usage;
use crate::run_executor::{RetryAdvice, RunEnd, RunResult};
use client::{ServerAddress, ServerAddressError};
use dispatch_os::environment;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Response, StatusCode};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The most of an answer that is read.
const MAX_ANSWER_BYTES: usize = 1024 * 1024;

pub(super) async fn run(
    attempt: &RunAttempt<'_>,
    url: &str,
    headers: &BTreeMap<String, String>,
    text: &str,
) -> RunResult {
    let request = match request(attempt, url, headers, text) {
        Ok(request) => request,
        Err(end) => return ended(end),
    };
    match or_stopped(attempt, exchange(request)).await {
        Err(stop) => ended(stop.end()),
        Ok(Err(reason)) => failed(attempt.redactor.sentence(&reason), RetryAdvice::Worthwhile),
        Ok(Ok(answer)) => judged(attempt, &answer),
    }
}

/// The names of the variables in a header's value: `Bearer ${NAME}`.
pub(super) fn variables(value: &str) -> impl Iterator<Item = &str> {
    value.split("${").skip(1).filter_map(|rest| rest.split_once('}').map(|(name, _)| name))
}

struct PromptRequest {
    address: ServerAddress,
    headers: HeaderMap,
    body: Vec<u8>,
}

struct PromptAnswer {
    status: StatusCode,
    body: Vec<u8>,
    is_whole: bool,
}

fn request(
    attempt: &RunAttempt<'_>,
    url: &str,
    headers: &BTreeMap<String, String>,
    text: &str,
) -> Result<PromptRequest, RunEnd> {
    let useless =
        |reason: String| RunEnd::Failed { reason: attempt.redactor.sentence(&reason), again: RetryAdvice::Useless };
    let address = ServerAddress::parse(url).map_err(|error: ServerAddressError| useless(error.to_string()))?;
    let prompt = prompt(attempt, text)?;
    let body = json!({ "prompt": prompt, "event": attempt.redactor.json(event_json::event(attempt)) });
    let mut sent = HeaderMap::new();
    sent.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    for (name, value) in headers {
        let value = filled(value).map_err(|missing| {
            useless(format!("the header `{name}` needs the variable {missing}, which is not set where the hook runs"))
        })?;
        let unfit = || useless(format!("invalid header `{name}` or header value"));
        let mut value = HeaderValue::from_str(&value).map_err(|_| unfit())?;
        value.set_sensitive(true);
        sent.insert(HeaderName::from_bytes(name.as_bytes()).map_err(|_| unfit())?, value);
    }
    Ok(PromptRequest { address, headers: sent, body: body.to_string().into_bytes() })
}

/// The value with the variables in it; else the name of the one that is not set.
fn filled(value: &str) -> Result<String, String> {
    let mut filled = value.to_owned();
    for name in variables(value) {
        let found = environment::variable(name).ok().flatten().ok_or_else(|| name.to_owned())?;
        filled = filled.replace(&format!("${{{name}}}"), &found);
    }
    Ok(filled)
}

async fn exchange(request: PromptRequest) -> Result<PromptAnswer, String> {
    let server = request.address.origin();
    let sending = request.address.client()?.post(request.address.url()).headers(request.headers).body(request.body);
    let mut answer = sending.send().await.map_err(|error| client::connection_failed(&error, &server))?;
    let status = answer.status();
    let mut body = Vec::new();
    let is_whole = read(&mut answer, &mut body).await.map_err(|error| client::connection_failed(&error, &server))?;
    Ok(PromptAnswer { status, body, is_whole })
}

/// Reads as much as is kept; says whether that was all.
async fn read(answer: &mut Response, body: &mut Vec<u8>) -> Result<bool, reqwest::Error> {
    while let Some(piece) = answer.chunk().await? {
        let room = MAX_ANSWER_BYTES - body.len();
        body.extend_from_slice(piece.get(..room).unwrap_or(&piece));
        if piece.len() > room {
            return Ok(false);
        }
    }
    Ok(true)
}

fn judged(attempt: &RunAttempt<'_>, answer: &PromptAnswer) -> RunResult {
    let (said, usage) = understood(answer);
    let end = if answer.status.is_success() {
        RunEnd::Success
    } else {
        let again = if is_passing(answer.status) { RetryAdvice::Worthwhile } else { RetryAdvice::Useless };
        let hint =
            if answer.status.is_redirection() { "; redirects are not followed, give the final address" } else { "" };
        RunEnd::Failed { reason: format!("the server answered {}{hint}", answer.status), again }
    };
    let cut = if answer.is_whole { "" } else { "\n[the rest of the answer was cut]\n" };
    RunResult { output: attempt.redactor.output(&format!("{said}{cut}")), usage, ..ended(end) }
}

fn is_passing(status: StatusCode) -> bool {
    status.is_server_error() || matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT)
}

/// `{"output", "usage": {"tokens", "microUsd"}}` where the server speaks it, else the body as it is.
fn understood(answer: &PromptAnswer) -> (String, Usage) {
    let plain = || (String::from_utf8_lossy(&answer.body).into_owned(), Usage::default());
    let Ok(Value::Object(fields)) = serde_json::from_slice(&answer.body) else { return plain() };
    let usage = fields.get("usage").and_then(|usage| serde_json::from_value(usage.clone()).ok()).unwrap_or_default();
    match fields.get("output").and_then(Value::as_str) {
        Some(output) => (output.to_owned(), usage),
        None => (plain().0, usage),
    }
}
