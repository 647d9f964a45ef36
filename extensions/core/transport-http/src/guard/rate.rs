//! Limits the requests per second of each client: a token bucket per address.
//!
//! Pure.

use crate::settings::RequestRate;
use core::net::IpAddr;
use std::collections::BTreeMap;

/// One token, in the unit that a millisecond refills: a rate per second is so many units per millisecond.
const UNIT: u64 = 1_000;

/// The buckets of all clients of one kind. Knows at most so many; a bucket that is full again is
/// the same as none.
#[derive(Debug)]
pub(crate) struct RateLimit {
    rate: RequestRate,
    max_clients: usize,
    buckets: BTreeMap<IpAddr, TokenBucket>,
}

#[derive(Clone, Copy, Debug)]
struct TokenBucket {
    units: u64,
    at_ms: u64,
}

impl RateLimit {
    pub(crate) fn new(rate: RequestRate, max_clients: usize) -> Self {
        Self { rate, max_clients, buckets: BTreeMap::new() }
    }

    /// Lets a request pass, or says after how many milliseconds one would. `now_ms` never goes back.
    pub(crate) fn take(&mut self, client: IpAddr, now_ms: u64) -> Result<(), u64> {
        if !self.buckets.contains_key(&client) && self.buckets.len() >= self.max_clients {
            self.forget_idle(now_ms);
        }
        let full = self.full();
        let per_ms = u64::from(self.rate.per_second);
        if !self.buckets.contains_key(&client) && self.buckets.len() >= self.max_clients {
            // More addresses than anybody honest has: the newcomer waits until one of them rests.
            return Err(UNIT / per_ms.max(1) + 1);
        }
        let bucket = self.buckets.entry(client).or_insert(TokenBucket { units: full, at_ms: now_ms });
        let refill = now_ms.saturating_sub(bucket.at_ms).saturating_mul(per_ms);
        *bucket = TokenBucket { units: bucket.units.saturating_add(refill).min(full), at_ms: now_ms };
        if bucket.units >= UNIT {
            bucket.units -= UNIT;
            return Ok(());
        }
        Err((UNIT - bucket.units).div_ceil(per_ms.max(1)))
    }

    fn full(&self) -> u64 {
        u64::from(self.rate.burst) * UNIT
    }

    fn forget_idle(&mut self, now_ms: u64) {
        let (full, per_ms) = (self.full(), u64::from(self.rate.per_second));
        self.buckets.retain(|_, bucket| {
            bucket.units.saturating_add(now_ms.saturating_sub(bucket.at_ms).saturating_mul(per_ms)) < full
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const RATE: RequestRate = RequestRate { per_second: 10, burst: 3 };

    fn address(last: u8) -> IpAddr {
        IpAddr::from([127, 0, 0, last])
    }

    #[test]
    fn a_burst_passes_then_the_rate_holds() {
        let mut limit = RateLimit::new(RATE, 8);
        for _ in 0..3 {
            assert_eq!(limit.take(address(1), 0), Ok(()));
        }
        assert_eq!(limit.take(address(1), 0), Err(100));
        assert_eq!(limit.take(address(1), 60), Err(40));
        assert_eq!(limit.take(address(1), 100), Ok(()));
        assert_eq!(limit.take(address(2), 100), Ok(()), "another client has its own");
    }

    #[test]
    fn memory_is_bounded_and_idle_clients_are_forgotten() {
        let mut limit = RateLimit::new(RATE, 4);
        for last in 0..4 {
            assert_eq!(limit.take(address(last), 0), Ok(()));
        }
        assert!(limit.take(address(9), 0).is_err());
        assert_eq!(limit.take(address(9), 200), Ok(()));
        assert!(limit.buckets.len() <= 4);
    }

    proptest! {
        #[test]
        fn never_more_than_burst_and_rate(waits in proptest::collection::vec(0_u64..400, 1..200)) {
            let mut limit = RateLimit::new(RATE, 4);
            let (mut now, mut passed) = (0, 0_u64);
            for wait in waits {
                now += wait;
                match limit.take(address(1), now) {
                    Ok(()) => passed += 1,
                    Err(after) => prop_assert!((1..=100).contains(&after)),
                }
                prop_assert!(passed * 1_000 <= u64::from(RATE.burst) * 1_000 + now * u64::from(RATE.per_second));
            }
        }
    }
}
