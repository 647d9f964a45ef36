//! A place in a text that has to go, and how overlapping places become one.
//!
//! Pure.

use std::ops::Range;

/// Which rule found a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SpanKind {
    /// A built-in pattern that knows the format.
    Format(&'static str),
    /// A built-in pattern that only knows the name the value was given.
    Named(&'static str),
    /// The user pattern with this index.
    User(usize),
    /// A user pattern with this index that could not be run: its text is withheld.
    Broken(usize),
}

/// Where a span ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SpanEnd {
    /// At something that is not part of the secret.
    Closed,
    /// At the end of the text, inside a private key block.
    OpenBlock,
}

/// One place that has to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) kind: SpanKind,
    /// Where the match starts; the key name of an assignment, for one, stays readable.
    pub(crate) context: usize,
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) ends: SpanEnd,
}

impl Span {
    pub(crate) fn new(kind: SpanKind, context: usize, secret: Range<usize>) -> Self {
        Self { kind, context, start: secret.start, end: secret.end, ends: SpanEnd::Closed }
    }

    fn absorb(&mut self, other: &Span) {
        if matches!(self.kind, SpanKind::Named(_)) {
            self.kind = other.kind;
        }
        if other.end > self.end {
            self.end = other.end;
            self.ends = other.ends;
        } else if other.end == self.end && other.ends == SpanEnd::OpenBlock {
            self.ends = other.ends;
        }
        self.context = self.context.min(other.context);
    }
}

/// Orders the spans and joins those that overlap.
pub(crate) fn merge(mut spans: Vec<Span>) -> Vec<Span> {
    spans.sort_by_key(|span| (span.start, span.end));
    let mut merged: Vec<Span> = Vec::with_capacity(spans.len());
    for span in spans {
        match merged.last_mut() {
            Some(last) if span.start < last.end => last.absorb(&span),
            _ => merged.push(span),
        }
    }
    merged
}
