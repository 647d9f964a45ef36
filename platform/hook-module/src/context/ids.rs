//! The short ids of an invocation, derived from the event and the state with no lookup elsewhere.

use crate::digest::sha256_start;
use serde::{Deserialize, Serialize};

/// The agent that the user talks to.
pub const MAIN_AGENT: &str = "u00";
/// Digits of the number in a work id.
pub const WORK_ID_DIGITS: usize = 3;
/// The highest number that two digits hold; after it the numbers start again.
const LAST_AGENT: u32 = 99;
const FIRST_WORK: &str = "w001";
const LAST_WORK: u32 = 999;
const MAX_KEY_BYTES: usize = 64;
/// What the id of a run keeps of an event's name.
const MAX_EVENT_CHARS: usize = 64;

/// Who and when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Ids {
    /// The host session: 8 hex digits.
    pub session_id: String,
    /// The piece of work: `w001`.
    pub work_id: String,
    /// The agent: `u00` for the main one, `a01` and on for subagents.
    pub agent_id: String,
    /// The number of prompts so far.
    pub turn_id: u64,
    /// `<event>-<turn>-<milliseconds>`.
    pub hook_run_id: String,
}

/// The id of a run: `<event>-<turn>-<milliseconds>`, the event without what would break that form.
#[must_use]
pub fn hook_run_id(event: &str, turn_id: u64, run_ms: i64) -> String {
    let name: String = event.chars().filter(char::is_ascii_alphanumeric).take(MAX_EVENT_CHARS).collect();
    let name = if name.is_empty() { "Unknown" } else { name.as_str() };
    format!("{name}-{turn_id}-{run_ms}")
}

/// The id of the work after `current`; the first one if there is none.
#[must_use]
pub fn next_work_id(current: Option<&str>) -> String {
    match current.and_then(work_number) {
        Some(number) => format!("w{:03}", if number < LAST_WORK { number + 1 } else { 1 }),
        None => FIRST_WORK.to_owned(),
    }
}

/// The number in a work id.
#[must_use]
pub fn work_number(id: &str) -> Option<u32> {
    let digits = id.strip_prefix('w').filter(|digits| digits.len() == WORK_ID_DIGITS)?;
    digits.parse().ok()
}

/// The next free subagent id, given those in use.
#[must_use]
pub fn next_agent_id<'a>(used: impl Iterator<Item = &'a str>) -> String {
    let highest = used.filter_map(|id| id.strip_prefix('a')?.parse::<u32>().ok()).max().unwrap_or(0);
    format!("a{:02}", if highest < LAST_AGENT { highest + 1 } else { 1 })
}

/// What a host's subagent is remembered by: its id, else its type. Long ones are hashed.
#[must_use]
pub fn agent_key(agent_id: Option<&str>, agent_type: Option<&str>) -> Option<String> {
    let key = match (agent_id, agent_type) {
        (Some(id), _) if !id.is_empty() => id.to_owned(),
        (_, Some(kind)) if !kind.is_empty() => format!("type:{kind}"),
        _ => return None,
    };
    if key.len() <= MAX_KEY_BYTES {
        return Some(key);
    }
    Some(sha256_start(key.as_bytes(), 32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_ids_have_their_format_and_never_leave_it() {
        for (current, next) in [(None, "w001"), (Some("w001"), "w002"), (Some("w999"), "w001"), (Some("x"), "w001")] {
            assert_eq!(next_work_id(current), next);
        }
        assert_eq!(next_agent_id([].into_iter()), "a01");
        assert_eq!(next_agent_id(["a01", "a07", "u00", "zz"].into_iter()), "a08");
        assert_eq!(next_agent_id(["a99"].into_iter()), "a01");
    }

    #[test]
    fn the_id_of_a_run_has_three_parts_whatever_the_event_is_called() {
        let table = [("Stop", "Stop-2-5"), ("tool.execute-before", "toolexecutebefore-2-5"), ("--", "Unknown-2-5")];
        for (event, expected) in table {
            assert_eq!(hook_run_id(event, 2, 5), expected);
        }
    }

    #[test]
    fn a_subagent_is_known_by_id_then_by_type() {
        assert_eq!(agent_key(Some("x1"), Some("Plan")).as_deref(), Some("x1"));
        assert_eq!(agent_key(Some(""), Some("Plan")).as_deref(), Some("type:Plan"));
        assert_eq!(agent_key(None, None), None);
        assert_eq!(agent_key(Some(&"x".repeat(500)), None).map(|key| key.len()), Some(32));
    }
}
