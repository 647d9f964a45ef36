//! Tells whether the host itself stops an endless command or runs it beside the conversation.
//!
//! Pure.

use serde_json::Value;

/// Fields with which a host runs a command beside the conversation.
const BACKGROUND_FIELDS: &[&str] =
    &["run_in_background", "runInBackground", "isBackground", "is_background", "background", "detach", "async"];
/// Fields with which a host stops a command after a while.
const TIMEOUT_FIELDS: &[&str] =
    &["timeout", "timeout_ms", "timeoutMs", "timeout_seconds", "timeoutSeconds", "yield_time_ms", "initial_wait"];
/// Fields that say `false` where a command does not hold up the conversation.
const BLOCKING_FIELDS: &[&str] = &["Blocking", "blocking"];

/// Whether the host bounds an endless command.
pub(super) fn is_lifted(input: &Value) -> bool {
    let is =
        |fields: &[&str], wanted: fn(&Value) -> bool| fields.iter().filter_map(|field| input.get(*field)).any(wanted);
    is(BACKGROUND_FIELDS, |value| value.as_bool() == Some(true))
        || is(TIMEOUT_FIELDS, |value| value.as_f64().is_some_and(|limit| limit > 0.0))
        || is(BLOCKING_FIELDS, |value| value.as_bool() == Some(false))
}
