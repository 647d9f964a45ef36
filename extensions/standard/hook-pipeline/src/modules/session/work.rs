//! When a prompt begins a new piece of work.

use dispatch_hook_module::SessionState;
use dispatch_hook_module::phase::Phase;
use regex::bytes::RegexBuilder;
use serde::Deserialize as _;
use serde_json::Value;

use super::Settings;

/// `/new` at the start of a prompt.
pub(super) const DEFAULT_NEW_WORK: &str = r"^/new\b";
/// Memory a pattern may take when it is compiled.
const PATTERN_LIMIT_BYTES: usize = 256 * 1024;

/// Whether the prompt starts new work: the last one is done, or the prompt says so.
pub(crate) fn starts_new_work(state: &SessionState, prompt: &str, config: &Value) -> bool {
    if state.work_id().is_none() {
        return false;
    }
    let settings = Settings::deserialize(config).unwrap_or_default();
    state.phase() == Phase::Complete || settings.new_work_on.iter().any(|pattern| matches(pattern, prompt))
}

fn matches(pattern: &str, prompt: &str) -> bool {
    if pattern == DEFAULT_NEW_WORK && !prompt.starts_with("/new") {
        return false;
    }
    let compiled = RegexBuilder::new(pattern).unicode(false).size_limit(PATTERN_LIMIT_BYTES).build();
    compiled.is_ok_and(|regex| regex.is_match(prompt.as_bytes()))
}
