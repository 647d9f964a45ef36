//! Finds the parts of a file that exist only in tests, so that production rules leave them alone.

use super::{Position, Token, closing, next_attribute, tokens};
use std::ops::Range;

// Words that open an item; an item ends at its `;` or its block. Anything else that can carry an
// attribute (a field, a variant, an argument) ends at a comma.
const ITEM_WORDS: &[&str] = &[
    "async",
    "const",
    "enum",
    "extern",
    "fn",
    "impl",
    "let",
    "macro_rules",
    "mod",
    "pub",
    "static",
    "struct",
    "trait",
    "type",
    "unsafe",
    "use",
];

/// Byte ranges of `#[cfg(test)]` and `#[test]` items in masked code.
///
/// `#![cfg(test)]` makes the whole file one range.
pub(crate) fn test_ranges(code: &str) -> Vec<Range<usize>> {
    let found = tokens(code);
    let mut ranges: Vec<Range<usize>> = Vec::new();
    let mut index = 0;
    while let Some(attribute) = next_attribute(&found, index) {
        index = attribute.end + 1;
        if !is_test_only(&found[attribute.body.clone()]) {
            continue;
        }
        if attribute.position == Position::Inner {
            return std::iter::once(0..code.len()).collect();
        }
        let last = item_end(&found, index);
        ranges.push(found[attribute.start].offset..end_offset(&found, last, code.len()));
        index = last + 1;
    }
    ranges
}

fn is_test_only(body: &[Token<'_>]) -> bool {
    let has = |word: &str| body.iter().any(|token| token.text == word);
    match body.first().map(|token| token.text) {
        Some("cfg") => has("test") && !has("not") && !has("any"),
        Some("test") => body.len() == 1,
        _ => false,
    }
}

fn item_end(found: &[Token<'_>], after_attribute: usize) -> usize {
    let mut index = after_attribute;
    while found.get(index).is_some_and(|token| token.text == "#") {
        index = closing(found, index + 1) + 1;
    }
    let is_item = found.get(index).is_some_and(|token| ITEM_WORDS.contains(&token.text));
    while let Some(token) = found.get(index) {
        match token.text {
            ";" => return index,
            "," if !is_item => return index,
            "{" => return closing(found, index),
            "(" | "[" => index = closing(found, index),
            ")" | "]" | "}" => return index.saturating_sub(1),
            _ => {}
        }
        index += 1;
    }
    found.len().saturating_sub(1)
}

fn end_offset(found: &[Token<'_>], last: usize, length: usize) -> usize {
    found.get(last).map_or(length, |token| token.offset + token.text.len())
}
