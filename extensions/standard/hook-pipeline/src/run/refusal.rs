//! What the pipeline itself refuses before any module is asked, each with a code of its own.
//!
//! Pure.

use dispatch_hook_dialects::dialect::{Dialect, InputError};
use dispatch_hook_dialects::{Answer, Reply};
use dispatch_hook_module::{Decision, EventName, HookEvent};
use serde_json::Value;

use crate::pipeline::GuardFinding;

/// The payload is JSON, and larger or deeper than what is looked at.
const PAYLOAD_CODE: &str = "PL01";
/// Rules are there and cannot be read.
const RULES_CODE: &str = "PL02";
/// A critical module cannot run.
const MODULE_CODE: &str = "PL03";

/// The machine left no time to judge the call.
pub(super) const TIME_CODE: &str = "PL04";

/// The deepest tool input that is judged; real ones stay below ten.
const MAX_INPUT_DEPTH: usize = 64;

/// Refuses a payload that is JSON and exceeds a limit, and one of which something is still missing; what is not JSON at
/// all is not a tool call.
pub(super) fn payload(problem: &InputError) -> Option<GuardFinding> {
    let (code, remedy) = match problem {
        InputError::TooLarge | InputError::TooDeep => (PAYLOAD_CODE, "Make it smaller."),
        InputError::Unfinished => (TIME_CODE, "Try it again."),
        InputError::Empty | InputError::NotJson { .. } | InputError::NotAnObject => return None,
    };
    Some(deny(code, format!("The call was not judged: {problem}. {remedy}")))
}

/// Refuses a tool input that is nested deeper than the guards look.
pub(super) fn deep_input(input: &Value) -> Option<GuardFinding> {
    exceeds_depth(input, MAX_INPUT_DEPTH).then(|| {
        let why = format!("The call was not judged: its input is nested deeper than {MAX_INPUT_DEPTH} levels.");
        deny(PAYLOAD_CODE, why)
    })
}

/// Refuses everything while rules cannot be read.
pub(super) fn unreadable_rules(problem: &str) -> GuardFinding {
    deny(RULES_CODE, format!("The rules cannot be read, so nothing may run: {problem}. Ask the user to repair them."))
}

/// Refuses everything while a critical module does not run.
pub(super) fn critical_module(name: &str, why: &str) -> GuardFinding {
    let why =
        format!("The critical module `{name}` does not run, so nothing may run: {why}. Ask the user to look at it.");
    deny(MODULE_CODE, why)
}

/// The answer to a call that no guard got to in time; only where it can stop the call.
pub(crate) fn unjudged(dialect: &Dialect, event: &HookEvent) -> Option<Reply> {
    (event.name == EventName::PreToolUse).then(|| {
        let why = "The call was not judged: the machine gave the guards no time. Try it again.";
        dialect.render(event, &Answer { code: Some(TIME_CODE.to_owned()), ..Answer::deny(why) })
    })
}

fn deny(code: &str, why: String) -> GuardFinding {
    GuardFinding { code: Some(code.to_owned()), decision: Decision::Deny, why: Some(why) }
}

fn exceeds_depth(value: &Value, left: usize) -> bool {
    match value {
        Value::Array(items) => left == 0 || items.iter().any(|item| exceeds_depth(item, left - 1)),
        Value::Object(fields) => left == 0 || fields.values().any(|item| exceeds_depth(item, left - 1)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_json_that_exceeds_a_limit_or_time_is_refused() {
        assert!(payload(&InputError::TooLarge).is_some());
        assert!(payload(&InputError::TooDeep).is_some());
        assert!(payload(&InputError::Unfinished).is_some());
        assert!(payload(&InputError::Empty).is_none());
        assert!(payload(&InputError::NotJson { line: 1, column: 1 }).is_none());
    }

    #[test]
    fn depth_is_counted_in_arrays_and_objects() {
        let nested = |levels: usize| {
            (0..levels).fold(json!("x"), |inner, at| if at % 2 == 0 { json!([inner]) } else { json!({"a": inner}) })
        };
        assert!(deep_input(&nested(MAX_INPUT_DEPTH)).is_none());
        assert!(deep_input(&nested(MAX_INPUT_DEPTH + 1)).is_some());
    }
}
