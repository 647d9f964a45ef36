//! Classifies a server's failure and words it without secrets.
//!
//! Pure.

mod context_length;
mod retry_after;

pub(crate) use retry_after::retry_after_ms;

use crate::excerpt::{excerpt, page_title};
use dispatch_contracts::provider::{ProviderError, ProviderErrorKind};
use serde_json::Value;

/// An answer with an error status.
pub(crate) struct ErrorAnswer<'a> {
    /// The HTTP status.
    pub(crate) status: u16,
    /// The start of the body.
    pub(crate) body: &'a str,
    /// Where a redirect points.
    pub(crate) location: Option<&'a str>,
    /// From the headers.
    pub(crate) retry_after_ms: Option<u64>,
    /// What was asked, for example `http://127.0.0.1:8000`.
    pub(crate) server: &'a str,
}

/// The failure that an error status means.
pub(crate) fn of_answer(answer: &ErrorAnswer<'_>, secrets: &[String]) -> ProviderError {
    let ErrorAnswer { status, body, server, .. } = answer;
    let report = read(&serde_json::from_str(body).unwrap_or_else(|_| Value::from(*body)));
    let kind = kind(Some(*status), &report);
    let words = spoken(&report, secrets);
    let message = match kind {
        _ if (300..400).contains(status) => return redirected(answer, secrets),
        ProviderErrorKind::Auth if report.is_out_of_credit(Some(*status)) => {
            format!("{server} refused the call because the account has no credit left ({status}){words}")
        }
        ProviderErrorKind::Auth => {
            format!("{server} refused the key ({status}){words}; `dispatch auth add` stores a key for this server")
        }
        ProviderErrorKind::RateLimited => format!("{server} asks to slow down ({status}){words}"),
        ProviderErrorKind::ContextLength => format!("the conversation does not fit the model{words}"),
        ProviderErrorKind::Unavailable => format!("{server} cannot answer at the moment ({status}){words}"),
        _ if *status == 404 => {
            format!(
                "{server} does not know the model or the path ({status}){words}; check model.model and model.base_url"
            )
        }
        _ => format!("{server} refused the request ({status}){words}"),
    };
    ProviderError { kind, message, retry_after_ms: answer.retry_after_ms }
}

/// An error object inside a stream or in an answer that claims success.
pub(crate) fn in_stream(chunk: &Value, secrets: &[String]) -> ProviderError {
    let report = read(chunk);
    let kind = kind(report.status, &report);
    ProviderError::new(kind, format!("the model server reported an error{}", spoken(&report, secrets)))
}

/// An event that is not JSON.
pub(crate) fn not_json(data: &str, secrets: &[String]) -> ProviderError {
    let message = format!("the model's stream holds something that is not JSON: {}", excerpt(data, secrets));
    ProviderError::new(ProviderErrorKind::BrokenStream, message)
}

/// A document that is neither a reply nor an error.
pub(crate) fn not_a_reply(start: &str, secrets: &[String]) -> ProviderError {
    if let Some(title) = page_title(start) {
        let title = excerpt(&title, secrets);
        let named = if title.is_empty() { String::new() } else { format!(" titled \"{title}\"") };
        let message = format!("the server answered with a web page{named} instead of a reply; check model.base_url");
        return ProviderError::new(ProviderErrorKind::InvalidRequest, message);
    }
    let message = format!("the server's answer is not a reply: {}", excerpt(start, secrets));
    ProviderError::new(ProviderErrorKind::BrokenStream, message)
}

/// An answer that should have been a list of models.
pub(crate) fn not_a_list(document: &Value, start: &str, server: &str, secrets: &[String]) -> ProviderError {
    if is_error(document) {
        return in_stream(document, secrets);
    }
    let error = not_a_reply(start, secrets);
    ProviderError { message: format!("{server} does not list its models: {error}"), ..error }
}

/// Whether a chunk reports an error instead of a part of the reply.
pub(crate) fn is_error(chunk: &Value) -> bool {
    let has_error = chunk.get("error").is_some_and(|error| !error.is_null());
    has_error || chunk.get("object").and_then(Value::as_str) == Some("error")
}

/// What a server said about a failure, in whichever shape.
#[derive(Default)]
struct ErrorReport {
    status: Option<u16>,
    code: String,
    message: String,
}

impl ErrorReport {
    fn is_out_of_credit(&self, status: Option<u16>) -> bool {
        status == Some(402) || self.code.contains("insufficient_quota") || self.code.contains("billing")
    }
}

fn read(body: &Value) -> ErrorReport {
    let error = body.get("error").filter(|error| !error.is_null()).unwrap_or(body);
    let field = |name: &str| error.get(name).filter(|value| !value.is_null());
    let status = ["code", "status", "status_code"].into_iter().filter_map(field).find_map(number);
    let code = ["code", "type", "status"].into_iter().filter_map(field).filter_map(Value::as_str);
    let code = code.collect::<Vec<_>>().join(" ").to_ascii_lowercase();
    let message = match error {
        Value::String(text) => text.clone(),
        _ => {
            let named = ["message", "detail", "error", "reason"].into_iter().find_map(field);
            let told = named.map_or_else(String::new, in_words);
            // What the server behind a router said is more specific.
            let behind = error.pointer("/metadata/raw").map(in_words).filter(|raw| !raw.is_empty());
            [Some(told), behind].into_iter().flatten().filter(|text| !text.is_empty()).collect::<Vec<_>>().join(": ")
        }
    };
    ErrorReport { status, code, message }
}

fn number(value: &Value) -> Option<u16> {
    let number = value.as_u64().or_else(|| value.as_str()?.parse().ok())?;
    u16::try_from(number).ok().filter(|status| (300..600).contains(status))
}

fn in_words(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn kind(status: Option<u16>, report: &ErrorReport) -> ProviderErrorKind {
    use ProviderErrorKind::{Auth, ContextLength, InvalidRequest, RateLimited, Unavailable};
    let message = report.message.to_ascii_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| report.code.contains(word) || message.contains(word));
    if context_length::is_code(&report.code) {
        return ContextLength;
    }
    if report.is_out_of_credit(status) {
        return Auth;
    }
    match status {
        Some(429) => return RateLimited,
        Some(403) if says(&["moderation", "flagged", "content policy"]) => return InvalidRequest,
        Some(401 | 403) => return Auth,
        _ if context_length::is_wording(&message) => return ContextLength,
        Some(408 | 409 | 425 | 500..=599) => return Unavailable,
        Some(300..=499) => return InvalidRequest,
        _ => {}
    }
    if says(&["rate_limit", "rate limit", "too many requests", "resource_exhausted"]) {
        RateLimited
    } else if says(&["authentication", "invalid_api_key", "invalid api key", "unauthorized", "permission_denied"]) {
        Auth
    } else if says(&["invalid_request", "not_found", "badrequest", "bad request", "invalid_argument"]) {
        InvalidRequest
    } else {
        Unavailable
    }
}

fn spoken(report: &ErrorReport, secrets: &[String]) -> String {
    if let Some(title) = page_title(&report.message) {
        let title = excerpt(&title, secrets);
        return if title.is_empty() { String::new() } else { format!(": a web page titled \"{title}\"") };
    }
    let words = if report.message.trim().is_empty() { &report.code } else { &report.message };
    let words = excerpt(words, secrets);
    if words.is_empty() { words } else { format!(": {words}") }
}

fn redirected(answer: &ErrorAnswer<'_>, secrets: &[String]) -> ProviderError {
    let target = answer.location.map_or_else(String::new, |location| format!(" to {}", excerpt(location, secrets)));
    let message = format!(
        "{} redirects{target} ({}), and a key is sent only to the server it was added for; \
         if that is the right server, set model.base_url to it",
        answer.server, answer.status
    );
    ProviderError::new(ProviderErrorKind::InvalidRequest, message)
}

#[cfg(test)]
mod tests;
