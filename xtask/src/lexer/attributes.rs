//! Walks the attributes of a file, for rules about what they may say.

use super::{Token, closing};
use std::ops::Range;

/// One `#[...]` or `#![...]`, as token indexes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Attribute {
    /// Index of `#`.
    pub(crate) start: usize,
    /// Index of the closing `]`.
    pub(crate) end: usize,
    /// What is between the brackets.
    pub(crate) body: Range<usize>,
    /// Whether it speaks about what follows or about what it is in.
    pub(crate) position: Position,
}

/// Where an attribute stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Position {
    /// `#[...]`
    Outer,
    /// `#![...]`
    Inner,
}

/// The first attribute at or after a token index.
pub(crate) fn next_attribute(tokens: &[Token<'_>], from: usize) -> Option<Attribute> {
    let text = |index: usize| tokens.get(index).map_or("", |token| token.text);
    (from..tokens.len()).find_map(|start| {
        let (open, position) = match (text(start), text(start + 1), text(start + 2)) {
            ("#", "[", _) => (start + 1, Position::Outer),
            ("#", "!", "[") => (start + 2, Position::Inner),
            _ => return None,
        };
        let end = closing(tokens, open);
        Some(Attribute { start, end, body: open + 1..end.max(open + 1), position })
    })
}

/// Every attribute of a file, in order.
pub(crate) fn attributes(tokens: &[Token<'_>]) -> Vec<Attribute> {
    let mut found: Vec<Attribute> = Vec::new();
    let mut from = 0;
    while let Some(attribute) = next_attribute(tokens, from) {
        from = attribute.end + 1;
        found.push(attribute);
    }
    found
}
