//! The section `intents` of the configuration.

use serde::Deserialize;

const MINUTE_MS: i64 = 60_000;
const DEFAULT_CLAIM_MINUTES: u32 = 15;

/// What becomes of a change outside the scope that was only found afterwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnEscape {
    /// It is recorded and told.
    #[default]
    Record,
    /// It is put back too.
    Revert,
}

/// How intents are enforced.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Settings {
    /// What becomes of a change outside the scope.
    pub on_escape: OnEscape,
    /// How long a claim outlives the last event of its session.
    pub claim_minutes: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self { on_escape: OnEscape::default(), claim_minutes: DEFAULT_CLAIM_MINUTES }
    }
}

impl Settings {
    /// The same in milliseconds.
    #[must_use]
    pub fn claim_ms(&self) -> i64 {
        i64::from(self.claim_minutes) * MINUTE_MS
    }
}
