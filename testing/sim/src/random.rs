//! Numbers that follow from a seed, so that a history can be told again.

use std::sync::{Mutex, PoisonError};

/// A seeded source of numbers. Everybody who shares it gets another one each time.
#[derive(Debug)]
pub struct SeededRandom(Mutex<u64>);

impl SeededRandom {
    /// The numbers of a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(Mutex::new(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1))
    }

    /// The next number below a limit; 0 when the limit is.
    pub fn below(&self, limit: u64) -> u64 {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        *state % limit.max(1)
    }
}
