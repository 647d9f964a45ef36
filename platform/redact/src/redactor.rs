//! Replaces secrets in text: finds them, joins overlaps, and repeats until nothing more is found.
//!
//! Pure.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use crate::error::RedactError;
use crate::finding::Finding;
use crate::limits::MAX_PASSES;
use crate::options::{Builtin, Marker, Options};
use crate::rules::{MARKER_RULE, RULES};
use crate::scan::{self, ScanResult};
use crate::span::{self, Span, SpanKind};
use crate::user::{self, CompiledException, CompiledPattern};

/// Finds secrets and puts a marker in their place.
///
/// Making one with the built-in patterns costs nothing: their tables exist at compile time.
pub struct Redactor {
    builtin: Builtin,
    patterns: Vec<CompiledPattern>,
    exceptions: Vec<CompiledException>,
    marker: Marker,
}

impl Redactor {
    /// Looks for the built-in patterns only.
    pub const fn builtin() -> Self {
        Self { builtin: Builtin::On, patterns: Vec::new(), exceptions: Vec::new(), marker: Marker::Plain }
    }

    /// Looks for what the options say; an error names the pattern that is at fault.
    pub fn new(options: Options) -> Result<Self, RedactError> {
        Ok(Self {
            builtin: options.builtin,
            patterns: user::patterns(options.patterns, options.compile)?,
            exceptions: user::exceptions(options.allowed, options.compile)?,
            marker: options.marker,
        })
    }

    /// The names of the built-in patterns.
    pub fn builtin_kinds() -> impl Iterator<Item = &'static str> {
        RULES.iter().skip(MARKER_RULE + 1).map(|rule| rule.name)
    }

    /// The text without its secrets; borrowed if it has none.
    pub fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let Some(redacted) = self.rewritten(text.as_bytes()) else {
            return Cow::Borrowed(text);
        };
        // Only whole characters are replaced, and by ASCII, so this is UTF-8.
        let redacted = String::from_utf8(redacted);
        Cow::Owned(redacted.unwrap_or_else(|_| self.marker.write(text.as_bytes())))
    }

    /// The same for bytes that need not be UTF-8.
    pub fn redact_bytes<'t>(&self, text: &'t [u8]) -> Cow<'t, [u8]> {
        self.rewritten(text).map_or(Cow::Borrowed(text), Cow::Owned)
    }

    /// Where the secrets are, and what they are called. The secrets themselves are not told.
    pub fn find(&self, text: &str) -> Vec<Finding<'_>> {
        let finding = |span: Span| Finding { kind: self.name_of(span.kind), range: span.start..span.end };
        self.spans(text.as_bytes()).into_iter().map(finding).collect()
    }

    /// What has to go from `text` as it stands, in order and without overlap.
    pub(crate) fn spans(&self, text: &[u8]) -> Vec<Span> {
        let mut found = match self.builtin {
            Builtin::On => scan::builtin(text),
            Builtin::Off => ScanResult::default(),
        };
        for (index, pattern) in self.patterns.iter().enumerate() {
            pattern.collect(text, index, &mut found.spans);
        }
        found.spans.retain(|span| span.start < span.end && !self.is_allowed(text, span));
        if found.spans.is_empty() {
            return found.spans;
        }
        if self.builtin == Builtin::Off {
            found.markers = scan::markers(text);
        }
        let whole = found.spans.into_iter().map(|span| on_characters(text, span));
        span::merge(whole.filter_map(|span| around_markers(span, &found.markers)).collect())
    }

    /// The text with every span replaced; `None` if there is nothing to replace.
    pub(crate) fn replaced(&self, text: &[u8], spans: &[Span]) -> Option<Vec<u8>> {
        spans.first()?;
        let mut output = Vec::with_capacity(text.len());
        let mut from = 0;
        for span in spans {
            output.extend_from_slice(text.get(from..span.start)?);
            let secret = text.get(span.start..span.end)?;
            output.extend_from_slice(self.marker.write(secret).as_bytes());
            from = span.end;
        }
        output.extend_from_slice(text.get(from..)?);
        Some(output)
    }

    /// What stands in place of `secret`, unless the allow-list covers it.
    pub(crate) fn marker_for(&self, secret: &str) -> Option<String> {
        let allowed = self.exceptions.iter().any(|entry| entry.covers(secret.as_bytes()));
        (!allowed).then(|| self.marker.write(secret.as_bytes()))
    }

    /// Whether the user added patterns, which may look for anything.
    pub(crate) fn has_user_patterns(&self) -> bool {
        !self.patterns.is_empty()
    }

    /// Whether the built-in patterns are looked for.
    pub(crate) fn judges_names(&self) -> bool {
        self.builtin == Builtin::On
    }

    fn rewritten(&self, text: &[u8]) -> Option<Vec<u8>> {
        let mut current = self.replaced(text, &self.spans(text))?;
        for _ in 1..MAX_PASSES {
            match self.replaced(&current, &self.spans(&current)) {
                Some(next) => current = next,
                None => return Some(current),
            }
        }
        Some(self.marker.write(text).into_bytes())
    }

    fn is_allowed(&self, text: &[u8], span: &Span) -> bool {
        let secret = text.get(span.start..span.end).unwrap_or_default();
        !matches!(span.kind, SpanKind::Broken(_)) && self.exceptions.iter().any(|entry| entry.covers(secret))
    }

    fn name_of(&self, kind: SpanKind) -> &str {
        match kind {
            SpanKind::Format(name) | SpanKind::Named(name) => name,
            SpanKind::User(index) | SpanKind::Broken(index) => {
                self.patterns.get(index).map_or("user", CompiledPattern::name)
            }
        }
    }
}

impl Default for Redactor {
    fn default() -> Self {
        Self::builtin()
    }
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redactor")
            .field("builtin", &self.builtin)
            .field("patterns", &self.patterns)
            .field("exceptions", &self.exceptions.len())
            .field("marker", &self.marker)
            .finish()
    }
}

/// Widens a span that cuts a UTF-8 character.
fn on_characters(text: &[u8], mut span: Span) -> Span {
    const LONGEST_CHARACTER: usize = 4;
    let continues = |at: usize| text.get(at).is_some_and(|byte| byte & 0xc0 == 0x80);
    for _ in 1..LONGEST_CHARACTER {
        span.start -= usize::from(span.start > 0 && continues(span.start));
        span.end += usize::from(continues(span.end));
    }
    span.context = span.context.min(span.start);
    span
}

/// Drops a span inside a marker, and lets one that cuts a marker take all of it.
fn around_markers(mut span: Span, markers: &[Range<usize>]) -> Option<Span> {
    let first = markers.partition_point(|marker| marker.end <= span.start);
    let last = markers.partition_point(|marker| marker.start < span.end);
    let touched = markers.get(first..last).unwrap_or_default();
    if let ([marker, ..], [.., end]) = (touched, touched) {
        if marker.start <= span.start && span.end <= marker.end {
            return None;
        }
        span.start = span.start.min(marker.start);
        span.end = span.end.max(end.end);
        span.context = span.context.min(span.start);
    }
    Some(span)
}
