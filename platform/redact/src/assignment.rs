//! Values that are secrets because of the name they are given: `password=...` in all its spellings.
//!
//! Pure.

mod key;
pub(crate) mod syntax;

use crate::limits::MAX_JUDGED_BYTES;
use crate::rule::is_open_line;
use crate::span::{Span, SpanKind};
use crate::value;

pub(crate) use key::{KEYWORDS, KeyClass, class_of};
use syntax::{Operator, ValueOpening};

const KIND: SpanKind = SpanKind::Named("assigned-secret");

/// Where a value stands, which says how much doubt it deserves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AssignmentForm {
    /// Between quotes.
    Quoted,
    /// `UPPER_CASE=value`: a shell or an environment file, never code.
    Environment,
    /// `key=value`, `key: value`, `--key value`: most likely data.
    Plain,
    /// `key = value` to the end of a line: a settings file or code.
    Line,
    /// Where an expression is as likely.
    Code,
}

/// Reports the value assigned to the key whose keyword stands at `at`.
pub(crate) fn search(text: &[u8], at: usize, spans: &mut Vec<Span>) -> usize {
    let Some(key) = key::around(text, at) else {
        return at;
    };
    let Some(opening) = opening_after(text, &key) else {
        return at;
    };
    let rest = text.get(opening.start..).unwrap_or_default();
    let judged = rest.get(..rest.len().min(MAX_JUDGED_BYTES)).unwrap_or_default();
    let length = opening.length(judged);
    let found = judged.get(..length).unwrap_or_default();
    let form = form_of(text, &key, &opening, rest.get(length).copied());
    if !value::is_secret(found, key.class, form) {
        return at;
    }
    let length = if length == judged.len() { opening.length(rest) } else { length };
    let end = opening.start + length;
    spans.push(Span::new(KIND, key.start, opening.start..end));
    end
}

/// Whether more text could make an assignment of the keyword at `at`.
pub(crate) fn is_open(text: &[u8], at: usize) -> bool {
    let rest = text.get(at..).unwrap_or_default();
    let Some(key) = key::around(text, at) else {
        return !rest.iter().any(u8::is_ascii_whitespace);
    };
    let after = text.get(key.end..).unwrap_or_default();
    let joins = |byte: &u8| !matches!(byte, b' ' | b'\t' | b'"' | b'\'' | b'`' | b'\\' | b']');
    match after.iter().find(|byte| joins(byte)) {
        None => is_open_line(after),
        Some(b'=' | b':' | b'!' | b'?' | b'%' | b',' | b'>') => is_open_line(after),
        Some(_) => text.get(key.start..).is_some_and(|name| name.starts_with(b"--")) && is_open_line(after),
    }
}

fn opening_after(text: &[u8], key: &key::AssignmentKey) -> Option<ValueOpening> {
    let flag = text.get(key.start..)?.starts_with(b"--");
    match syntax::value_after(text, key.end) {
        Some(opening) if opening.operator == Operator::Comma && !flag => None,
        Some(opening) => Some(opening),
        None if flag => syntax::argument_after(text, key.end),
        None => syntax::element_after(text, key.start, key.end),
    }
}

fn form_of(text: &[u8], key: &key::AssignmentKey, opening: &ValueOpening, next: Option<u8>) -> AssignmentForm {
    if opening.quote.is_some() {
        return AssignmentForm::Quoted;
    }
    let ends_line = next.is_none_or(|byte| matches!(byte, b'\n' | b'\r' | b'\\'));
    let inside = matches!(next, Some(b',' | b')' | b']' | b'}'));
    let name = text.get(key.start..key.end).unwrap_or_default();
    match opening.operator {
        Operator::Equals if !opening.spaced && is_environment(name) => AssignmentForm::Environment,
        Operator::Equals if opening.spaced && ends_line => AssignmentForm::Line,
        Operator::Equals if opening.spaced || inside => AssignmentForm::Code,
        Operator::Colon if inside || next == Some(b';') => AssignmentForm::Code,
        Operator::Compares => AssignmentForm::Code,
        _ => AssignmentForm::Plain,
    }
}

fn is_environment(key: &[u8]) -> bool {
    key.iter().all(|byte| matches!(byte, b'A'..=b'Z' | b'0'..=b'9' | b'_'))
}
