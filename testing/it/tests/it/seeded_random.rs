//! Random numbers from a seed, so that a failing run can be repeated.

/// A linear congruential generator.
pub(crate) struct SeededRandom(pub(crate) u64);

impl SeededRandom {
    /// A number below `end`.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}
