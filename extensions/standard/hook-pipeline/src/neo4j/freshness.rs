//! When the database is asked again, and for how long.
//!
//! Pure.

use std::time::Duration;

use dispatch_hook_module::{EventName, SessionState};
use serde_json::Value;

use super::report::patch;
use super::settings::is_configured;

/// How long an answer counts.
pub(crate) const FRESH_MS: i64 = 5 * 60 * 1000;
/// The longest that an event waits for the database.
const MAX_PROBE_TIME: Duration = Duration::from_millis(250);
/// With less time the database is not asked.
const MIN_PROBE_TIME: Duration = Duration::from_millis(20);
/// The part of the time left that the database may take.
const TIME_SHARE_DIVISOR: u32 = 4;

/// What an event does about the database.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ProbeDecision {
    /// Nothing: what is known holds, or nothing is configured.
    Keep,
    /// It is not configured any more; this patch says so.
    Forget(Value),
    /// Ask it, and keep the answer with this time. Without a time the clock went back: the time on record
    /// only grows, so it is removed now and set by the next event.
    Ask {
        /// The time to keep.
        stamp_ms: Option<i64>,
    },
}

/// What this event does about the database that `section` describes.
#[must_use]
pub(crate) fn decide_probe(event: &EventName, section: &Value, state: &SessionState, now_ms: i64) -> ProbeDecision {
    // The cheap question first: this is asked before every tool call.
    if matches!(event, EventName::PreToolUse | EventName::Other(_)) {
        return ProbeDecision::Keep;
    }
    let known = state.capabilities().neo4j;
    if !is_configured(section) {
        return if known.enabled {
            ProbeDecision::Forget(patch(false, false, None, None))
        } else {
            ProbeDecision::Keep
        };
    }
    match known.last_check_ts {
        Some(last) if last > now_ms => ProbeDecision::Ask { stamp_ms: None },
        Some(last) if now_ms.saturating_sub(last) < FRESH_MS => ProbeDecision::Keep,
        _ => ProbeDecision::Ask { stamp_ms: Some(now_ms) },
    }
}

/// How long the database may take, out of the time that is left; nothing if there is too little.
#[must_use]
pub(crate) fn probe_time_limit(time_left: Duration) -> Option<Duration> {
    let share = (time_left / TIME_SHARE_DIVISOR).min(MAX_PROBE_TIME);
    (share >= MIN_PROBE_TIME).then_some(share)
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
        let ask = ProbeDecision::Ask { stamp_ms: Some(NOW) };
        let cases = [
            (SessionState::default(), ask.clone()),
            (state(NOW), ProbeDecision::Keep),
            (state(NOW - FRESH_MS + 1), ProbeDecision::Keep),
            (state(NOW - FRESH_MS), ask.clone()),
            (state(0), ask.clone()),
            (state(i64::MIN), ask),
            (state(NOW + 1), ProbeDecision::Ask { stamp_ms: None }),
            (state(i64::MAX), ProbeDecision::Ask { stamp_ms: None }),
        ];
        for (state, expected) in cases {
            assert_eq!(decide_probe(&EventName::Stop, &section, &state, NOW), expected, "{state:?}");
        }
    }

    #[test]
    fn nothing_happens_before_a_tool_call_or_without_a_configuration() {
        let section = json!({"url": "bolt://localhost"});
        for event in [EventName::PreToolUse, EventName::Other("Notification".to_owned())] {
            assert_eq!(decide_probe(&event, &section, &SessionState::default(), NOW), ProbeDecision::Keep);
        }
        for nothing in [json!(null), json!({}), json!({"url": null}), json!("bolt://localhost")] {
            assert_eq!(
                decide_probe(&EventName::SessionStart, &nothing, &SessionState::default(), NOW),
                ProbeDecision::Keep
            );
        }
        let gone = decide_probe(&EventName::SessionStart, &json!(null), &state(NOW), NOW);
        let ProbeDecision::Forget(patch) = gone else { panic!("{gone:?}") };
        let (after, problems) = merge(&state(NOW), &patch);
        assert_eq!(
            (problems, after.to_value()),
            (vec![], json!({"cap": {"neo4j": {"enabled": false, "reachable": false}}}))
        );
        assert_eq!(decide_probe(&EventName::SessionStart, &json!(null), &after, NOW), ProbeDecision::Keep);
    }

    #[test]
    fn a_clock_that_went_back_is_overcome_within_two_events() {
        let section = json!({"url": "bolt://localhost"});
        let report = super::super::report::ProbeReport { reachable: true, version: None, note: None };
        let mut state = state(NOW + 1_000_000);
        let mut asked = 0;
        for _ in 0..4 {
            if let ProbeDecision::Ask { stamp_ms } = decide_probe(&EventName::Stop, &section, &state, NOW) {
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
            assert_eq!(probe_time_limit(ms(left)), expected.map(ms), "{left}");
        }
    }
}
