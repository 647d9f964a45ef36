//! Counts and times of hooks and channels, put together from what the journal, the ledger and the outbox counted.
//!
//! Pure.

use crate::contract::{ChannelMetrics, HookMetrics};
use ext_event_ledger::contract::ChannelCount;
use ext_session_orchestrator::contract::{ReplyCount, ReplyState};
use std::collections::BTreeMap;

/// So many invocations of a hook ended in this way after so many milliseconds.
#[derive(Clone, Debug)]
pub(crate) struct CountedOutcome {
    pub(crate) hook: String,
    pub(crate) outcome: String,
    pub(crate) ms: u64,
    pub(crate) count: u64,
}

/// One line per hook, in the order of their ids.
pub(crate) fn hook_metrics(counted: &[CountedOutcome]) -> Vec<HookMetrics> {
    let mut hooks: BTreeMap<&str, (HookMetrics, BTreeMap<u64, u64>)> = BTreeMap::new();
    for CountedOutcome { hook, outcome, ms, count } in counted {
        let (metrics, times) = hooks.entry(hook).or_default();
        let counter = match outcome.as_str() {
            "fired" => &mut metrics.fired,
            "passed" => &mut metrics.passed,
            "failed" => &mut metrics.failed,
            "timeout" => &mut metrics.timeout,
            "invalid" => &mut metrics.invalid,
            // It did not look at the event: not approved, switched off by another event, stopped.
            _ => {
                metrics.skipped += count;
                continue;
            }
        };
        *counter += count;
        *times.entry(*ms).or_default() += count;
    }
    let finished = hooks.into_iter().map(|(hook, (metrics, times))| HookMetrics {
        hook: hook.to_owned(),
        median_ms: percentile(&times, 50),
        p95_ms: percentile(&times, 95),
        ..metrics
    });
    finished.collect()
}

/// The time that so many of a hundred do not exceed.
fn percentile(times: &BTreeMap<u64, u64>, percent: u64) -> Option<u64> {
    let total: u64 = times.values().sum();
    let wanted = (total * percent).div_ceil(100);
    let mut seen = 0;
    times.iter().find_map(|(ms, count)| {
        seen += count;
        (seen >= wanted).then_some(*ms)
    })
}

/// One line per channel, in order.
pub(crate) fn channel_metrics(received: &[ChannelCount], replies: &[ReplyCount]) -> Vec<ChannelMetrics> {
    let mut channels: BTreeMap<&str, ChannelMetrics> = BTreeMap::new();
    for count in received {
        let metrics = channels.entry(&count.channel).or_default();
        metrics.received = count.received;
        metrics.duplicates = count.duplicates;
        metrics.refused = count.refused;
    }
    for ReplyCount { channel, state, count } in replies {
        let metrics = channels.entry(channel).or_default();
        match state {
            ReplyState::Sent => metrics.sent += count,
            ReplyState::Failed => metrics.failed += count,
            ReplyState::Unknown => metrics.unknown += count,
            ReplyState::Pending | ReplyState::Sending => metrics.waiting += count,
        }
    }
    channels.into_iter().map(|(channel, metrics)| ChannelMetrics { channel: channel.to_owned(), ..metrics }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(hook: &str, outcome: &str, ms: u64, count: u64) -> CountedOutcome {
        CountedOutcome { hook: hook.to_owned(), outcome: outcome.to_owned(), ms, count }
    }

    #[test]
    fn outcomes_are_counted_and_times_are_those_of_hooks_that_ran() {
        let found = hook_metrics(&[
            counted("b", "fired", 3, 10),
            counted("b", "passed", 1, 89),
            counted("b", "timeout", 2_000, 1),
            counted("a", "untrusted", 0, 7),
            counted("a", "hook_already_disabled", 4, 1),
            counted("c", "failed", 9, 1),
            counted("c", "invalid", 5, 1),
        ]);
        let ids: Vec<&str> = found.iter().map(|hook| hook.hook.as_str()).collect();
        assert_eq!(ids, ["a", "b", "c"]);
        assert_eq!((found[0].skipped, found[0].median_ms, found[0].p95_ms), (8, None, None));
        let b = &found[1];
        assert_eq!((b.fired, b.passed, b.timeout, b.median_ms, b.p95_ms), (10, 89, 1, Some(1), Some(3)));
        assert_eq!((found[2].failed, found[2].invalid, found[2].median_ms, found[2].p95_ms), (1, 1, Some(5), Some(9)));
    }

    #[test]
    fn a_channel_is_there_with_what_came_in_or_with_what_left() {
        let received = [ChannelCount { channel: "webhook".to_owned(), received: 4, duplicates: 2, refused: 1 }];
        let reply = |channel: &str, state, count| ReplyCount { channel: channel.to_owned(), state, count };
        let replies = [
            reply("mail", ReplyState::Pending, 1),
            reply("mail", ReplyState::Sending, 2),
            reply("webhook", ReplyState::Sent, 3),
            reply("webhook", ReplyState::Unknown, 1),
            reply("webhook", ReplyState::Failed, 5),
        ];
        let found = channel_metrics(&received, &replies);
        assert_eq!((found[0].channel.as_str(), found[0].waiting, found[0].received), ("mail", 3, 0));
        let webhook = &found[1];
        assert_eq!((webhook.received, webhook.duplicates, webhook.refused), (4, 2, 1));
        assert_eq!((webhook.sent, webhook.unknown, webhook.failed), (3, 1, 5));
    }
}
