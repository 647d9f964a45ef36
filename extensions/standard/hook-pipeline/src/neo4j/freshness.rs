//! When the database is asked again, and for how long. Pure.

use std::time::Duration;

use dispatch_hook_module::{EventName, SessionState};
use serde_json::Value;

use super::patch;
use super::settings::is_configured;

/// How long an answer counts.
pub const FRESH_MS: i64 = 5 * 60 * 1000;
/// The longest that an event waits for the database.
const MAX_PATIENCE: Duration = Duration::from_millis(250);
/// With less there is no point in asking.
const MIN_PATIENCE: Duration = Duration::from_millis(20);
/// The part of the time left that the database may take.
const SHARE: u32 = 4;

/// What an event does about the database.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Nothing: what is known holds, or nothing is configured.
    Keep,
    /// It is not configured any more; this patch says so.
    Forget(Value),
    /// It is asked, and the answer is kept with this time. Without one the clock went back: the time
    /// on record only ever grows, so it is removed now and set by the next event.
    Ask {
        /// The time to keep.
        stamp_ms: Option<i64>,
    },
}

/// What this event does about the database that `section` describes.
#[must_use]
pub fn step(event: &EventName, section: &Value, state: &SessionState, now_ms: i64) -> Step {
    // The cheap question first: this is asked before every tool call.
    if matches!(event, EventName::PreToolUse | EventName::Other(_)) {
        return Step::Keep;
    }
    let known = state.capabilities().neo4j;
    if !is_configured(section) {
        return if known.enabled { Step::Forget(patch(false, false, None, None)) } else { Step::Keep };
    }
    match known.last_check_ts {
        Some(last) if last > now_ms => Step::Ask { stamp_ms: None },
        Some(last) if now_ms.saturating_sub(last) < FRESH_MS => Step::Keep,
        _ => Step::Ask { stamp_ms: Some(now_ms) },
    }
}

/// How long the database may take, out of the time that is left; nothing if there is too little.
#[must_use]
pub fn patience(time_left: Duration) -> Option<Duration> {
    let share = (time_left / SHARE).min(MAX_PATIENCE);
    (share >= MIN_PATIENCE).then_some(share)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use dispatch_hook_module::state::merge;

    const NOW: i64 = 1_700_000_000_000;

    fn state(last: i64) -> SessionState {
        SessionState::from_value(json!({"cap": {"neo4j": {"enabled": true, "reachable": true, "lastCheckTs": last}}}))
    }

    #[test]
    fn an_answer_counts_for_five_minutes_and_one_from_the_future_does_not() {
        let section = json!({"url": "bolt://localhost"});
        let ask = Step::Ask { stamp_ms: Some(NOW) };
        let cases = [
            (SessionState::default(), ask.clone()),
            (state(NOW), Step::Keep),
            (state(NOW - FRESH_MS + 1), Step::Keep),
            (state(NOW - FRESH_MS), ask.clone()),
            (state(0), ask.clone()),
            (state(i64::MIN), ask),
            (state(NOW + 1), Step::Ask { stamp_ms: None }),
            (state(i64::MAX), Step::Ask { stamp_ms: None }),
        ];
        for (state, expected) in cases {
            assert_eq!(step(&EventName::Stop, &section, &state, NOW), expected, "{state:?}");
        }
    }

    #[test]
    fn nothing_happens_before_a_tool_call_or_without_a_configuration() {
        let section = json!({"url": "bolt://localhost"});
        for event in [EventName::PreToolUse, EventName::Other("Notification".to_owned())] {
            assert_eq!(step(&event, &section, &SessionState::default(), NOW), Step::Keep);
        }
        for nothing in [json!(null), json!({}), json!({"url": null}), json!("bolt://localhost")] {
            assert_eq!(step(&EventName::SessionStart, &nothing, &SessionState::default(), NOW), Step::Keep);
        }
        let gone = step(&EventName::SessionStart, &json!(null), &state(NOW), NOW);
        let Step::Forget(patch) = gone else { panic!("{gone:?}") };
        let (after, problems) = merge(&state(NOW), &patch);
        assert_eq!(
            (problems, after.to_value()),
            (vec![], json!({"cap": {"neo4j": {"enabled": false, "reachable": false}}}))
        );
        assert_eq!(step(&EventName::SessionStart, &json!(null), &after, NOW), Step::Keep);
    }

    #[test]
    fn a_clock_that_went_back_is_overcome_within_two_events() {
        let section = json!({"url": "bolt://localhost"});
        let report = super::super::Report { reachable: true, version: None, note: None };
        let mut state = state(NOW + 1_000_000);
        let mut asked = 0;
        for _ in 0..4 {
            if let Step::Ask { stamp_ms } = step(&EventName::Stop, &section, &state, NOW) {
                asked += 1;
                state = merge(&state, &report.patch(stamp_ms)).0;
            }
            assert!(state.capabilities().neo4j.reachable);
        }
        assert_eq!((asked, state.capabilities().neo4j.last_check_ts), (2, Some(NOW)));
    }

    #[test]
    fn the_wait_is_a_small_part_of_the_time_left() {
        let ms = Duration::from_millis;
        for (left, expected) in [(0, None), (79, None), (80, Some(20)), (500, Some(125)), (5_000, Some(250))] {
            assert_eq!(patience(ms(left)), expected.map(ms), "{left}");
        }
    }
}
