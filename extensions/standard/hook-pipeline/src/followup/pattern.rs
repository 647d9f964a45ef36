//! Regular expressions of users: linear in time, bounded in memory, compiled only when they are needed.
//!
//! Pure.

use regex::bytes::{Regex, RegexBuilder};

use super::FollowupRuleProblem;
use crate::prose::shorten;

/// Memory a pattern may take when it is compiled.
const PATTERN_LIMIT_BYTES: usize = 256 * 1024;
const CAUSE_LIMIT_CHARS: usize = 200;

/// Compiles a pattern. Classes such as `\w` mean ASCII, and `.` is any byte.
pub(crate) fn compile(pattern: &str) -> Result<Regex, FollowupRuleProblem> {
    // Bytes, because a text pattern without Unicode tables may not even say `.`.
    RegexBuilder::new(pattern)
        .unicode(false)
        .size_limit(PATTERN_LIMIT_BYTES)
        .dfa_size_limit(PATTERN_LIMIT_BYTES)
        .build()
        .map_err(|error| FollowupRuleProblem::Pattern(shorten(&error.to_string(), CAUSE_LIMIT_CHARS)))
}

/// The pattern that matches this text and nothing else.
pub(crate) fn escape(text: &str) -> String {
    regex::escape(text)
}
