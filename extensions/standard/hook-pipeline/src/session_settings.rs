//! The section `session` of `config.json`: when a prompt begins new work, and where stamps go.
//!
//! Pure.

use dispatch_hook_module::SessionState;
use dispatch_hook_module::phase::Phase;
use regex::bytes::RegexBuilder;
use serde::Deserialize;

/// `/new` at the start of a prompt.
const DEFAULT_NEW_WORK: &str = r"^/new\b";
/// Memory a pattern may take when it is compiled.
const PATTERN_LIMIT_BYTES: usize = 256 * 1024;

/// What can be set about sessions.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct SessionSettings {
    /// Regular expressions; a prompt that matches one starts new work.
    pub(crate) new_work_on: Vec<String>,
    /// Whether ids are put into the tool's input. No host is known whose tools all bear that.
    pub(crate) stamp_input: bool,
}

impl Default for SessionSettings {
    fn default() -> Self {
        Self { new_work_on: vec![DEFAULT_NEW_WORK.to_owned()], stamp_input: false }
    }
}

impl SessionSettings {
    /// Whether the prompt starts new work: the last one is done, or the prompt says so.
    pub(crate) fn starts_new_work(&self, state: &SessionState, prompt: &str) -> bool {
        state.work_id().is_some()
            && (state.phase() == Phase::Complete || self.new_work_on.iter().any(|pattern| matches(pattern, prompt)))
    }
}

fn matches(pattern: &str, prompt: &str) -> bool {
    if pattern == DEFAULT_NEW_WORK && !prompt.starts_with("/new") {
        return false;
    }
    let compiled = RegexBuilder::new(pattern).unicode(false).size_limit(PATTERN_LIMIT_BYTES).build();
    compiled.is_ok_and(|regex| regex.is_match(prompt.as_bytes()))
}
