//! The settings of compaction.
//!
//! Pure.

use dispatch_contracts::settings::Settings;

const DEFAULT_AT: f64 = 0.8;
const DEFAULT_KEEP: usize = 4;

/// What the user's settings say.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct CompactionSettings {
    /// Which part of the window may be used before the history is compacted.
    pub(crate) at: f64,
    /// How many of the last turns stay as they are.
    pub(crate) keep: usize,
    /// How many tokens fit the model, if its server does not say.
    pub(crate) window: Option<u64>,
}

impl CompactionSettings {
    pub(crate) fn read(settings: &Settings) -> Self {
        let at: f64 = settings.read("compaction.at").unwrap_or(DEFAULT_AT);
        Self {
            at: at.clamp(0.1, 1.0),
            keep: settings.read("compaction.keep").unwrap_or(DEFAULT_KEEP),
            window: settings.read("compaction.window"),
        }
    }
}
