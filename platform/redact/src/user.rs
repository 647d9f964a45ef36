//! The user's own patterns and allow-list, compiled under limits.
//!
//! Pure.

use std::fmt;
use std::sync::OnceLock;

use regex::bytes::{Regex, RegexBuilder};

use crate::error::RedactError;
use crate::limits::{
    MAX_ALLOWED, MAX_USER_PATTERN_BYTES, MAX_USER_PATTERN_CACHE_BYTES, MAX_USER_PATTERN_COMPILED_BYTES,
    MAX_USER_PATTERNS,
};
use crate::options::{Allowed, Compile, UserPattern};
use crate::span::{Span, SpanKind};

const SECRET_GROUP: &str = "secret";

/// A user pattern, compiled at most once.
pub(crate) struct CompiledPattern {
    source: UserPattern,
    regex: OnceLock<Option<Regex>>,
}

/// A compiled allow-list entry.
pub(crate) enum CompiledException {
    Exact(String),
    Regex(OnceLock<Option<Regex>>, String),
}

impl CompiledPattern {
    pub(crate) fn name(&self) -> &str {
        &self.source.name
    }

    /// Reports every match in `text`, the pattern being the one with this index.
    pub(crate) fn collect(&self, text: &[u8], index: usize, spans: &mut Vec<Span>) {
        if !self.may_match(text) {
            return;
        }
        let regex = self.regex.get_or_init(|| compile(&self.source.name, &self.source.regex).ok());
        let Some(regex) = regex else {
            // The user wants something removed from this text, and it is not known what.
            if !text.is_empty() {
                spans.push(Span::new(SpanKind::Broken(index), 0, 0..text.len()));
            }
            return;
        };
        if regex.captures_len() == 1 {
            let found = regex.find_iter(text).map(|found| found.range());
            spans.extend(found.map(|range| Span::new(SpanKind::User(index), range.start, range)));
            return;
        }
        for captures in regex.captures_iter(text) {
            let secret = captures.name(SECRET_GROUP).or_else(|| captures.get(1));
            let whole = captures.get_match();
            let replaced = secret.unwrap_or(whole).range();
            spans.push(Span::new(SpanKind::User(index), whole.start(), replaced));
        }
    }

    fn may_match(&self, text: &[u8]) -> bool {
        let keywords = &self.source.keywords;
        let stands = |word: &String| contains(text, word.as_bytes());
        keywords.is_empty() || keywords.iter().any(stands)
    }
}

impl CompiledException {
    /// Whether this entry covers the whole of `secret`.
    pub(crate) fn covers(&self, secret: &[u8]) -> bool {
        match self {
            Self::Exact(text) => text.as_bytes() == secret,
            Self::Regex(regex, source) => regex
                .get_or_init(|| compile_exception(source).ok())
                .as_ref()
                .is_some_and(|regex| regex.is_match(secret)),
        }
    }
}

/// Checks the user's patterns and, if told to, compiles them.
pub(crate) fn patterns(sources: Vec<UserPattern>, when: Compile) -> Result<Vec<CompiledPattern>, RedactError> {
    if sources.len() > MAX_USER_PATTERNS {
        return Err(RedactError::TooManyPatterns { count: sources.len() });
    }
    sources.into_iter().map(|source| pattern(source, when)).collect()
}

/// Checks the allow-list and, if told to, compiles it.
pub(crate) fn exceptions(sources: Vec<Allowed>, when: Compile) -> Result<Vec<CompiledException>, RedactError> {
    if sources.len() > MAX_ALLOWED {
        return Err(RedactError::TooManyAllowed { count: sources.len() });
    }
    sources.into_iter().map(|source| exception(source, when)).collect()
}

fn pattern(source: UserPattern, when: Compile) -> Result<CompiledPattern, RedactError> {
    check_length(&source.name, &source.regex)?;
    let regex = match when {
        Compile::Now => OnceLock::from(Some(compile(&source.name, &source.regex)?)),
        Compile::WhenNeeded => OnceLock::new(),
    };
    Ok(CompiledPattern { source, regex })
}

fn exception(source: Allowed, when: Compile) -> Result<CompiledException, RedactError> {
    Ok(match source {
        Allowed::Exact(text) => CompiledException::Exact(text),
        Allowed::Regex(source) => {
            check_length(&source, &source)?;
            let regex = match when {
                Compile::Now => OnceLock::from(Some(compile_exception(&source)?)),
                Compile::WhenNeeded => OnceLock::new(),
            };
            CompiledException::Regex(regex, source)
        }
    })
}

fn check_length(name: &str, source: &str) -> Result<(), RedactError> {
    if source.len() <= MAX_USER_PATTERN_BYTES {
        return Ok(());
    }
    Err(RedactError::PatternTooLong { name: shortened(name), bytes: source.len() })
}

fn compile_exception(source: &str) -> Result<Regex, RedactError> {
    compile(source, source)?;
    compile(source, &format!(r"\A(?:{source})\z"))
}

fn compile(name: &str, source: &str) -> Result<Regex, RedactError> {
    RegexBuilder::new(source)
        .unicode(false)
        .size_limit(MAX_USER_PATTERN_COMPILED_BYTES)
        .dfa_size_limit(MAX_USER_PATTERN_CACHE_BYTES)
        .build()
        .map_err(|source| {
            let name = shortened(name);
            match source {
                regex::Error::CompiledTooBig(_) => RedactError::PatternTooBig { name },
                source => RedactError::InvalidPattern { name, source },
            }
        })
}

fn shortened(name: &str) -> String {
    const LONGEST_NAME: usize = 64;
    name.chars().take(LONGEST_NAME).collect()
}

fn contains(text: &[u8], word: &[u8]) -> bool {
    let Some(&first) = word.first() else {
        return true;
    };
    let starts = |(at, &byte): (usize, &u8)| byte == first && text.get(at..).is_some_and(|rest| rest.starts_with(word));
    text.iter().enumerate().any(starts)
}

impl fmt::Debug for CompiledPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.source.fmt(f)
    }
}
