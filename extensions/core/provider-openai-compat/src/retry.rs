//! Decides whether and when a failed call is retried.
//!
//! Pure.

use dispatch_contracts::provider::{ProviderError, ProviderErrorKind};

/// How often a call is tried when the settings do not say.
pub(crate) const DEFAULT_ATTEMPTS: u32 = 4;
const FIRST_WAIT_MS: u64 = 500;
const LONGEST_WAIT_MS: u64 = 8_000;
/// A server that asks for a longer wait is not retried: the caller decides.
pub(crate) const MAX_RETRY_AFTER_MS: u64 = 60_000;
/// How much of a wait is left to chance, in percent.
const JITTER_PERCENT: u64 = 25;

/// How long to wait before the next try; `None` to give up. `attempt` counts from 1, `random` is any
/// number.
pub(crate) fn wait_ms(error: &ProviderError, attempt: u32, attempts: u32, random: u64) -> Option<u64> {
    use ProviderErrorKind::{Network, RateLimited, Unavailable};
    if attempt >= attempts || !matches!(error.kind, RateLimited | Unavailable | Network) {
        return None;
    }
    let doubled = FIRST_WAIT_MS.saturating_mul(1 << attempt.saturating_sub(1).min(20)).min(LONGEST_WAIT_MS);
    match error.retry_after_ms {
        Some(asked) if asked > MAX_RETRY_AFTER_MS => None,
        // Never earlier than asked; a little later, so that not everybody comes back at once.
        Some(asked) => Some(asked + jitter(asked.max(FIRST_WAIT_MS), random)),
        None => Some(doubled - jitter(doubled, random)),
    }
}

fn jitter(ms: u64, random: u64) -> u64 {
    random % (ms * JITTER_PERCENT / 100 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn error(kind: ProviderErrorKind, retry_after_ms: Option<u64>) -> ProviderError {
        ProviderError { kind, message: String::new(), retry_after_ms }
    }

    #[test]
    fn only_transient_failures_are_retried() {
        use ProviderErrorKind::*;
        for (kind, again) in [
            (RateLimited, true),
            (Unavailable, true),
            (Network, true),
            (Auth, false),
            (ContextLength, false),
            (InvalidRequest, false),
            (Timeout, false),
            (BrokenStream, false),
            (Cancelled, false),
        ] {
            assert_eq!(wait_ms(&error(kind, None), 1, 2, 0).is_some(), again, "{kind:?}");
            assert_eq!(wait_ms(&error(kind, None), 2, 2, 0), None, "attempts are bounded");
        }
    }

    #[test]
    fn waits_double_up_to_the_longest() {
        let waits: Vec<u64> =
            (1..8).filter_map(|attempt| wait_ms(&error(ProviderErrorKind::Network, None), attempt, 99, 0)).collect();
        assert_eq!(waits, [500, 1_000, 2_000, 4_000, 8_000, 8_000, 8_000]);
    }

    #[test]
    fn the_server_is_believed_up_to_the_cap() {
        let asked = |ms| wait_ms(&error(ProviderErrorKind::RateLimited, Some(ms)), 1, 4, 0);
        assert_eq!(asked(3_000), Some(3_000));
        assert_eq!(asked(MAX_RETRY_AFTER_MS), Some(MAX_RETRY_AFTER_MS));
        assert_eq!(asked(MAX_RETRY_AFTER_MS + 1), None);
    }

    proptest! {
        #[test]
        fn chance_stays_in_bounds(attempt in 1_u32..100, random: u64, asked in proptest::option::of(0_u64..100_000)) {
            if let Some(ms) = wait_ms(&error(ProviderErrorKind::Unavailable, asked), attempt, u32::MAX, random) {
                prop_assert!(ms <= MAX_RETRY_AFTER_MS * 5 / 4);
                prop_assert!(asked.is_none_or(|asked| ms >= asked));
                prop_assert!(asked.is_some() || ms >= FIRST_WAIT_MS * 3 / 4);
            }
        }
    }
}
