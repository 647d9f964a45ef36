//! Patterns of secrets: regular expressions that take linear time and little room.
//!
//! Pure.

use super::fields::{ConfigObject, Located};
use super::findings::Findings;
use super::format::SECRET_PATTERNS;
use dispatch_redact::limits::{MAX_USER_PATTERN_BYTES, MAX_USER_PATTERN_COMPILED_BYTES, MAX_USER_PATTERNS};
use dispatch_redact::{Builtin, Compile, Options, RedactError, Redactor, UserPattern};
use std::collections::HashMap;

/// What was said about the patterns so far: many hooks have the same ones.
#[derive(Default)]
pub(crate) struct SecretPatternChecks {
    judged: HashMap<String, Option<String>>,
}

impl SecretPatternChecks {
    /// The patterns under `secretPatterns`, `before` being those that count as well.
    pub(crate) fn read(&mut self, object: &ConfigObject<'_>, before: usize, findings: &mut Findings) -> Vec<String> {
        let most = MAX_USER_PATTERNS.saturating_sub(before);
        let texts = object.texts_at_most(&SECRET_PATTERNS, most, findings).unwrap_or_default();
        for text in &texts {
            self.check(text, findings);
        }
        texts.iter().map(|text| text.value.to_owned()).collect()
    }

    fn check(&mut self, text: &Located<&str>, findings: &mut Findings) {
        let known = self.judged.get(text.value).cloned();
        let judged = known.unwrap_or_else(|| {
            let judged = fault(text.value);
            self.judged.insert(text.value.to_owned(), judged.clone());
            judged
        });
        if let Some(message) = judged {
            let hint = "look-around and backreferences are not supported, so that no pattern takes exponential time";
            text.wrong_hinted(findings, "regex", message, hint);
        }
    }
}

/// What is wrong with a pattern, without repeating it: it may be a secret itself.
fn fault(pattern: &str) -> Option<String> {
    if pattern.is_empty() {
        return Some("the pattern is empty".to_owned());
    }
    let patterns = vec![UserPattern::new("pattern", pattern)];
    let options = Options { builtin: Builtin::Off, patterns, compile: Compile::Now, ..Options::default() };
    match Redactor::new(options).err()? {
        RedactError::PatternTooLong { bytes, .. } => {
            Some(format!("the pattern has {bytes} bytes, more than the limit of {MAX_USER_PATTERN_BYTES}"))
        }
        RedactError::PatternTooBig { .. } => {
            Some(format!("the pattern needs more than {MAX_USER_PATTERN_COMPILED_BYTES} bytes when it is compiled"))
        }
        RedactError::InvalidPattern { source, .. } => {
            let text = source.to_string();
            let reason = text.lines().filter_map(|line| line.strip_prefix("error: ")).next_back();
            Some(format!("invalid regular expression: {}", reason.unwrap_or("it cannot be parsed")))
        }
        RedactError::TooManyPatterns { .. } | RedactError::TooManyAllowed { .. } => None,
    }
}
