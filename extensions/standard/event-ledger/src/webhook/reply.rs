//! The answer to a webhook's request.
//!
//! Pure.

use super::payload::PayloadError;
use super::signature::SignatureError;
use crate::contract::{Appended, LedgerError};
use dispatch_contracts::contribution::RawResponse;
use serde_json::{Value, json};

/// When another try may work, in seconds.
const RETRY_AFTER_S: u32 = 2;

/// 202 if something was stored, 200 if all of it was there.
pub(super) fn accepted(appended: &[Appended]) -> RawResponse {
    let fresh = appended.iter().any(|one| one.fresh);
    let first = appended.first().map(|one| one.event.id.clone());
    let mut body = json!({ "event": first, "fresh": fresh });
    if appended.len() > 1 {
        body["events"] = appended.iter().map(|one| json!({ "event": one.event.id, "fresh": one.fresh })).collect();
    }
    RawResponse { is_authentic: true, ..answer(if fresh { 202 } else { 200 }, &body) }
}

/// 200 with what Slack asked for.
pub(super) fn challenge(text: &str) -> RawResponse {
    RawResponse { is_authentic: true, ..answer(200, &json!({ "challenge": text })) }
}

/// 404.
pub(super) fn unknown(name: &str) -> RawResponse {
    let shown: String = name.chars().filter(|sign| !sign.is_control()).take(100).collect();
    refused(404, "not_found", &format!("there is no webhook `{shown}`"))
}

/// 401; nothing was stored.
pub(super) fn unsigned(error: &SignatureError) -> RawResponse {
    refused(401, "unauthorized", &error.to_string())
}

/// 400.
pub(super) fn unreadable(error: &PayloadError) -> RawResponse {
    refused(400, "invalid", &error.to_string())
}

/// 400 for what the sender did wrong, 503 for what may work later.
pub(super) fn not_stored(error: &LedgerError) -> RawResponse {
    match error {
        LedgerError::Invalid { .. } | LedgerError::NoEvent { .. } => refused(400, "invalid", &error.to_string()),
        LedgerError::Storage(_) | LedgerError::Closed | LedgerError::Fenced => {
            let mut answer = refused(503, "storage", "the event cannot be stored now; send it again");
            answer.headers.push(("retry-after".to_owned(), RETRY_AFTER_S.to_string()));
            answer
        }
    }
}

fn refused(status: u16, code: &str, message: &str) -> RawResponse {
    answer(status, &json!({ "error": { "code": code, "message": message } }))
}

fn answer(status: u16, body: &Value) -> RawResponse {
    RawResponse {
        status,
        headers: vec![("content-type".to_owned(), "application/json".to_owned())],
        body: body.to_string().into_bytes(),
        is_authentic: false,
    }
}
