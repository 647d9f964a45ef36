//! The section `intents` of the configuration.
//!
//! Pure.

use serde::Deserialize;

const MINUTE_MS: i64 = 60_000;
const DEFAULT_CLAIM_MINUTES: u32 = 15;

/// What happens to an out-of-scope change that was found after the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum OnEscape {
    /// It is recorded and reported to the agent.
    #[default]
    Record,
    /// It is reverted too.
    Revert,
}

/// How intents are enforced.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct IntentSettings {
    /// What happens to an out-of-scope change.
    pub on_escape: OnEscape,
    /// How long a claim stays after the last event of its session.
    pub claim_minutes: u32,
}

impl Default for IntentSettings {
    fn default() -> Self {
        Self { on_escape: OnEscape::default(), claim_minutes: DEFAULT_CLAIM_MINUTES }
    }
}

impl IntentSettings {
    /// `claim_minutes` in milliseconds.
    #[must_use]
    pub(crate) fn claim_ms(&self) -> i64 {
        i64::from(self.claim_minutes) * MINUTE_MS
    }
}
