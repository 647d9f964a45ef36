//! How many runs a hook may begin now: its rate limit and what it may spend in a day.

use crate::contract::{Budget, RateLimit, Usage};

const DAY_MS: u64 = 24 * 60 * 60 * 1000;

/// The day of a moment, in UTC.
pub(crate) const fn day(unix_ms: u64) -> u64 {
    unix_ms / DAY_MS
}

/// When the day of a moment began.
pub(crate) const fn day_start_ms(unix_ms: u64) -> u64 {
    day(unix_ms) * DAY_MS
}

/// How many runs may begin now, and why no more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum HookPace {
    /// So many.
    Free(u32),
    /// None before that time, because of this.
    Halted { reason: &'static str, until_ms: u64 },
}

/// The rate limit, given when the last runs began, newest first.
pub(crate) fn rate(limit: Option<RateLimit>, begun_ms: &[u64], now_ms: u64) -> HookPace {
    let Some(limit) = limit else { return HookPace::Free(u32::MAX) };
    let since_ms = now_ms.saturating_sub(limit.per_ms);
    let recent = begun_ms.iter().filter(|at| **at > since_ms && **at <= now_ms).count();
    match limit.runs.saturating_sub(u32::try_from(recent).unwrap_or(u32::MAX)) {
        0 => {
            let oldest_ms = begun_ms.iter().filter(|at| **at <= now_ms).take(limit.runs as usize).last();
            let until_ms = oldest_ms.map_or(now_ms, |at_ms| at_ms.saturating_add(limit.per_ms)).max(now_ms + 1);
            HookPace::Halted { reason: "its rate limit (`rateLimit`) is reached", until_ms }
        }
        free => HookPace::Free(free),
    }
}

/// What may be spent in a day.
pub(crate) fn budget(budget: Budget, spent: Usage, now_ms: u64) -> HookPace {
    let reached = |limit: Option<u64>, spent: u64| limit.is_some_and(|limit| spent >= limit);
    if reached(budget.tokens_per_day, spent.tokens) || reached(budget.micro_usd_per_day, spent.micro_usd) {
        let until_ms = day_start_ms(now_ms).saturating_add(DAY_MS);
        return HookPace::Halted {
            reason: "the budget of the day (`budget`) is spent; the next day begins at midnight UTC",
            until_ms,
        };
    }
    HookPace::Free(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_kept_over_a_moving_window() {
        let limit = Some(RateLimit { runs: 2, per_ms: 1_000 });
        let table: [(&[u64], HookPace); 5] = [
            (&[], HookPace::Free(2)),
            (&[9_500], HookPace::Free(1)),
            (&[9_900, 9_500], HookPace::Halted { reason: "its rate limit (`rateLimit`) is reached", until_ms: 10_500 }),
            (&[9_900, 9_000], HookPace::Free(1)),
            // The clock was set back.
            (&[50_000, 40_000], HookPace::Free(2)),
        ];
        for (begun, expected) in table {
            assert_eq!(rate(limit, begun, 10_000), expected, "{begun:?}");
        }
        assert_eq!(rate(None, &[1, 1, 1], 1), HookPace::Free(u32::MAX));
    }

    #[test]
    fn a_spent_budget_halts() {
        let spent = Usage { tokens: 100, micro_usd: 5 };
        let limit =
            |tokens_per_day, micro_usd_per_day| budget(Budget { tokens_per_day, micro_usd_per_day }, spent, DAY_MS + 5);
        assert_eq!(limit(None, None), HookPace::Free(u32::MAX));
        assert_eq!(limit(Some(101), Some(6)), HookPace::Free(u32::MAX));
        for halted in [limit(Some(100), None), limit(None, Some(5)), limit(Some(0), None)] {
            assert!(matches!(halted, HookPace::Halted { until_ms, .. } if until_ms == 2 * DAY_MS), "{halted:?}");
        }
    }

    #[test]
    fn days_are_those_of_utc() {
        assert_eq!(day(DAY_MS - 1), 0);
        assert_eq!(day(DAY_MS), 1);
        assert_eq!(day_start_ms(DAY_MS + 5), DAY_MS);
    }
}
