//! The section `intents` of the configuration.
//!
//! Pure.

use serde::Deserialize;

use crate::intent::IntentMode;

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
    /// What becomes of a call that the intents do not allow; `None` is what `dispatch.toml` says.
    pub mode: Option<IntentMode>,
    /// Globs of files that need no intent, beside temporary folders, caches and files that git ignores.
    pub free: Vec<String>,
}

impl Default for IntentSettings {
    fn default() -> Self {
        Self { on_escape: OnEscape::default(), claim_minutes: DEFAULT_CLAIM_MINUTES, mode: None, free: Vec::new() }
    }
}

impl IntentSettings {
    /// `claim_minutes` in milliseconds.
    #[must_use]
    pub(crate) fn claim_ms(&self) -> i64 {
        i64::from(self.claim_minutes) * MINUTE_MS
    }
}

/// The mode that a project's settings ask for. A project that came from elsewhere may tighten, and loosens only if the
/// user approved its settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct ProjectMode {
    /// What the file says, if it says something.
    pub asked: Option<IntentMode>,
    /// Whether the user approved the file.
    pub is_approved: bool,
}

impl ProjectMode {
    /// What holds.
    #[must_use]
    pub(crate) fn in_force(self) -> IntentMode {
        self.asked.filter(|_| self.is_approved).unwrap_or_default()
    }
}

/// The value of `mode` in the section `[intents]` of a `dispatch.toml`. The hook has no parser for the whole format; the
/// commands check the file.
#[must_use]
pub(crate) fn mode_in_toml(text: &str) -> Option<IntentMode> {
    let mut section = "";
    for line in text.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
            section = name.trim();
        } else if let Some((key, value)) = line.split_once('=') {
            let key = key.trim();
            if (section == "intents" && key == "mode") || (section.is_empty() && key == "intents.mode") {
                let value = value.split('#').next().unwrap_or_default().trim().trim_matches(['"', '\'']);
                return serde_json::from_value(value.into()).ok();
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mode_is_read_from_its_section() {
        let mode = |text: &str| mode_in_toml(text);
        assert_eq!(mode("[intents]\nmode = \"observe\" # first week\n"), Some(IntentMode::Observe));
        assert_eq!(mode("[run]\nmode = \"observe\"\n[intents]\nmode='warn'\n"), Some(IntentMode::Warn));
        assert_eq!(mode("intents.mode = \"enforce\""), Some(IntentMode::Enforce));
        assert_eq!(mode("[run]\nmode = \"observe\"\n"), None);
        assert_eq!(mode("[intents]\nmode = 7\n"), None);
    }
}
