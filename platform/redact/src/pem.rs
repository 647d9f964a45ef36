//! Private key blocks, whole or cut off.
//!
//! Pure.

use std::ops::Range;

use crate::charset::BASE64;
use crate::limits::PEM_WINDOW_BYTES;
use crate::span::{Span, SpanEnd, SpanKind};

pub(crate) const OPENING: &str = "-----BEGIN ";
const CLOSING: &str = "-----END ";
const DASHES: &str = "-----";
const KIND: SpanKind = SpanKind::Format("private-key");
const LONGEST_LABEL: usize = 64;
/// A mention of the format in source code or prose is followed by words, key material by this.
const SHORTEST_MATERIAL: usize = 24;

/// Reports the block that opens at `at`: to its `END` line, or to the end of the text.
pub(crate) fn search(text: &[u8], at: usize, spans: &mut Vec<Span>) -> usize {
    let Some(body) = body_after(text, at) else {
        return at;
    };
    let window = text.get(body..text.len().min(body + PEM_WINDOW_BYTES)).unwrap_or_default();
    let inside = closing(window, 0).map_or(window.len(), |close| close.start);
    if !has_material(window.get(..inside).unwrap_or_default()) {
        return at;
    }
    let close = closing(text, body);
    let end = close.as_ref().map_or(text.len(), |close| close.end);
    let ends = if close.is_some() { SpanEnd::Closed } else { SpanEnd::OpenBlock };
    let span = Span::new(KIND, at, at..end);
    spans.push(Span { ends, ..span });
    end
}

/// Where an opening stands of which the text says too little to judge it.
pub(crate) fn undecided(text: &[u8]) -> Option<usize> {
    let mut from = text.len().saturating_sub(PEM_WINDOW_BYTES + LONGEST_LABEL + OPENING.len());
    loop {
        let at = from + find(text.get(from..)?, OPENING.as_bytes())?;
        let open = match body_after(text, at) {
            Some(body) => closing(text, body).is_none() && !has_material(text.get(body..)?),
            None => text.len() - at <= LONGEST_LABEL,
        };
        if open {
            return Some(at);
        }
        from = at + OPENING.len();
    }
}

/// The `END` line at or after `from`.
pub(crate) fn closing(text: &[u8], from: usize) -> Option<Range<usize>> {
    let start = from + find(text.get(from..)?, CLOSING.as_bytes())?;
    let label = start + CLOSING.len();
    let rest = text.get(label..text.len().min(label + LONGEST_LABEL))?;
    let end = find(rest, DASHES.as_bytes()).map_or(rest.len(), |at| at + DASHES.len());
    Some(start..label + end)
}

/// How many bytes of a stream must be kept so that an `END` line is not missed.
pub(crate) const CLOSING_BYTES: usize = CLOSING.len() + LONGEST_LABEL + DASHES.len();

fn body_after(text: &[u8], at: usize) -> Option<usize> {
    let label = at + OPENING.len();
    let rest = text.get(label..text.len().min(label + LONGEST_LABEL))?;
    let end = find(rest, DASHES.as_bytes())?;
    let private = find(rest.get(..end)?, b"PRIVATE KEY").is_some();
    private.then_some(label + end + DASHES.len())
}

fn has_material(body: &[u8]) -> bool {
    let mut rest = body;
    while !rest.is_empty() {
        let run = BASE64.run(rest);
        let word = rest.get(..run).unwrap_or_default();
        if run >= SHORTEST_MATERIAL && mixes_cases(word) {
            return true;
        }
        rest = rest.get(run + 1..).unwrap_or_default();
    }
    false
}

fn mixes_cases(word: &[u8]) -> bool {
    word.iter().any(u8::is_ascii_digit)
        && word.iter().any(u8::is_ascii_uppercase)
        && word.iter().any(u8::is_ascii_lowercase)
}

fn find(text: &[u8], needle: &[u8]) -> Option<usize> {
    let first = *needle.first()?;
    let mut from = 0;
    while let Some(found) = text.get(from..)?.iter().position(|&byte| byte == first) {
        let at = from + found;
        if text.get(at..)?.starts_with(needle) {
            return Some(at);
        }
        from = at + 1;
    }
    None
}
