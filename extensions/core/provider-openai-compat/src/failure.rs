//! Says what kind of failure a server's answer is, and puts it into words without secrets.

mod context_length;
mod retry_after;

pub(crate) use retry_after::retry_after_ms;

use crate::excerpt::{excerpt, page_title};
use dispatch_contracts::provider::{ProviderError, ProviderErrorKind};
use serde_json::Value;

/// An answer that is no reply.
pub(crate) struct Refusal<'a> {
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

/// An answer with a status that is no success.
pub(crate) fn of_answer(refusal: &Refusal<'_>, secrets: &[String]) -> ProviderError {
    let Refusal { status, body, server, .. } = refusal;
    let said = read(&serde_json::from_str(body).unwrap_or_else(|_| Value::from(*body)));
    let kind = kind(Some(*status), &said);
    let words = spoken(&said, secrets);
    let message = match kind {
        _ if (300..400).contains(status) => return redirected(refusal, secrets),
        ProviderErrorKind::Auth if said.is_out_of_credit(Some(*status)) => {
            format!("{server} refused the call because the account has no credit left ({status}){words}")
        }
        ProviderErrorKind::Auth => {
            format!("{server} refused the key ({status}){words}; `dispatch auth add` keeps a key for this address")
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
    ProviderError { kind, message, retry_after_ms: refusal.retry_after_ms }
}

/// An error object inside a stream or in an answer that claims success.
pub(crate) fn in_stream(chunk: &Value, secrets: &[String]) -> ProviderError {
    let said = read(chunk);
    let kind = kind(said.status, &said);
    ProviderError::new(kind, format!("the model server reported an error{}", spoken(&said, secrets)))
}

/// An event that is no JSON.
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
struct Said {
    status: Option<u16>,
    code: String,
    message: String,
}

impl Said {
    fn is_out_of_credit(&self, status: Option<u16>) -> bool {
        status == Some(402) || self.code.contains("insufficient_quota") || self.code.contains("billing")
    }
}

fn read(body: &Value) -> Said {
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
            // What the server behind a router said is more to the point.
            let behind = error.pointer("/metadata/raw").map(in_words).filter(|raw| !raw.is_empty());
            [Some(told), behind].into_iter().flatten().filter(|text| !text.is_empty()).collect::<Vec<_>>().join(": ")
        }
    };
    Said { status, code, message }
}

fn number(value: &Value) -> Option<u16> {
    let number = value.as_u64().or_else(|| value.as_str()?.parse().ok())?;
    u16::try_from(number).ok().filter(|status| (300..600).contains(status))
}

fn in_words(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn kind(status: Option<u16>, said: &Said) -> ProviderErrorKind {
    use ProviderErrorKind::{Auth, ContextLength, InvalidRequest, RateLimited, Unavailable};
    let message = said.message.to_ascii_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| said.code.contains(word) || message.contains(word));
    if context_length::is_code(&said.code) {
        return ContextLength;
    }
    if said.is_out_of_credit(status) {
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

fn spoken(said: &Said, secrets: &[String]) -> String {
    if let Some(title) = page_title(&said.message) {
        let title = excerpt(&title, secrets);
        return if title.is_empty() { String::new() } else { format!(": a web page titled \"{title}\"") };
    }
    let words = if said.message.trim().is_empty() { &said.code } else { &said.message };
    let words = excerpt(words, secrets);
    if words.is_empty() { words } else { format!(": {words}") }
}

fn redirected(refusal: &Refusal<'_>, secrets: &[String]) -> ProviderError {
    let target = refusal.location.map_or_else(String::new, |location| format!(" to {}", excerpt(location, secrets)));
    let message = format!(
        "{} sends the call on{target} ({}), and a key is never sent to an address it was not given for; \
         if that is the right server, set model.base_url to it",
        refusal.server, refusal.status
    );
    ProviderError::new(ProviderErrorKind::InvalidRequest, message)
}

#[cfg(test)]
mod tests;
