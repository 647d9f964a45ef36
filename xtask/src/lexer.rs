//! A small Rust lexer, so that textual checks see code and never comments or literals.

use std::ops::Range;

mod attributes;
mod declarations;
mod paths;
mod test_code;

pub(crate) use attributes::{Position, attributes, next_attribute};
pub(crate) use declarations::type_declarations;
pub(crate) use paths::{UsePath, paths};
pub(crate) use test_code::test_ranges;

/// One token of masked code; `::` is one token, every other punctuation is one byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Token<'a> {
    /// The token as written.
    pub(crate) text: &'a str,
    /// Byte offset in the file.
    pub(crate) offset: usize,
}

impl Token<'_> {
    /// True for an identifier, a keyword or a number.
    pub(crate) fn is_word(&self) -> bool {
        self.text.bytes().next().is_some_and(is_word_byte)
    }
}

/// Replaces comments, strings and character literals by spaces. Offsets and lines stay the same.
pub(crate) fn mask(source: &str) -> String {
    let bytes = source.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let word_end = at + bytes[at..].iter().take_while(|b| is_word_byte(**b)).count();
        let skip_end =
            if word_end > at { prefixed_literal_end(bytes, at, word_end) } else { unprefixed_end(bytes, at, byte) };
        match skip_end {
            Some(end) => {
                out.extend(bytes[at..end].iter().map(|b| if *b == b'\n' { b'\n' } else { b' ' }));
                at = end;
            }
            None => {
                let end = word_end.max(at + 1);
                out.extend_from_slice(&bytes[at..end]);
                at = end;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Replaces the given byte ranges by spaces; lines stay the same.
pub(crate) fn blank(code: &str, ranges: &[Range<usize>]) -> String {
    let mut bytes = code.as_bytes().to_vec();
    for byte in ranges.iter().flat_map(|range| range.clone()) {
        if let Some(slot) = bytes.get_mut(byte).filter(|slot| **slot != b'\n') {
            *slot = b' ';
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Splits masked code into tokens.
pub(crate) fn tokens(code: &str) -> Vec<Token<'_>> {
    let bytes = code.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let length = if is_word_byte(byte) {
            bytes[at..].iter().take_while(|b| is_word_byte(**b)).count()
        } else if bytes[at..].starts_with(b"::") {
            2
        } else {
            1
        };
        if !byte.is_ascii_whitespace() {
            found.push(Token { text: &code[at..at + length], offset: at });
        }
        at += length;
    }
    found
}

/// The index of the token that closes the bracket at `open`, or the last index when unbalanced.
pub(crate) fn closing(tokens: &[Token<'_>], open: usize) -> usize {
    let mut depth = 0_usize;
    for (index, token) in tokens.iter().enumerate().skip(open) {
        match token.text {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return index;
                }
            }
            _ => {}
        }
    }
    tokens.len().saturating_sub(1)
}

/// The one-based line of a byte offset.
pub(crate) fn line_of(text: &str, offset: usize) -> usize {
    let end = offset.min(text.len());
    text.as_bytes()[..end].iter().filter(|b| **b == b'\n').count() + 1
}

// Bytes of non-ASCII letters count as word bytes, so a token never ends inside a character.
fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii()
}

fn unprefixed_end(bytes: &[u8], at: usize, byte: u8) -> Option<usize> {
    match byte {
        b'/' if bytes.get(at + 1) == Some(&b'/') => {
            Some(bytes[at..].iter().position(|b| *b == b'\n').map_or(bytes.len(), |length| at + length))
        }
        b'/' if bytes.get(at + 1) == Some(&b'*') => Some(block_comment_end(bytes, at)),
        b'"' => Some(quoted_end(bytes, at, b'"')),
        b'\'' => char_end(bytes, at),
        _ => None,
    }
}

fn prefixed_literal_end(bytes: &[u8], start: usize, word_end: usize) -> Option<usize> {
    match (&bytes[start..word_end], bytes.get(word_end)) {
        (b"b" | b"c", Some(b'"')) => Some(quoted_end(bytes, word_end, b'"')),
        (b"b", Some(b'\'')) => Some(quoted_end(bytes, word_end, b'\'')),
        (b"r" | b"br" | b"cr", Some(b'"' | b'#')) => raw_string_end(bytes, word_end),
        _ => None,
    }
}

fn block_comment_end(bytes: &[u8], start: usize) -> usize {
    let mut depth = 0_usize;
    let mut at = start;
    while at < bytes.len() {
        if bytes[at..].starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if bytes[at..].starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    bytes.len()
}

fn quoted_end(bytes: &[u8], open: usize, quote: u8) -> usize {
    let mut at = open + 1;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 2,
            _ if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

// `r#name` is an identifier: only hashes that end in a quote open a raw string.
fn raw_string_end(bytes: &[u8], after_prefix: usize) -> Option<usize> {
    let hashes = bytes[after_prefix..].iter().take_while(|b| **b == b'#').count();
    let open = after_prefix + hashes;
    if bytes.get(open) != Some(&b'"') {
        return None;
    }
    let mut close = vec![b'"'];
    close.resize(hashes + 1, b'#');
    let body = &bytes[open + 1..];
    let length = body.windows(close.len()).position(|window| window == close);
    Some(length.map_or(bytes.len(), |length| open + 1 + length + close.len()))
}

// A quote opens a character when a backslash follows or when it closes after one character;
// everything else is a lifetime or a label.
fn char_end(bytes: &[u8], at: usize) -> Option<usize> {
    let first = *bytes.get(at + 1)?;
    if first == b'\\' {
        return Some(quoted_end(bytes, at, b'\''));
    }
    let width = match first {
        0x00..=0x7f => 1,
        0xc0..=0xdf => 2,
        0xe0..=0xef => 3,
        _ => 4,
    };
    (bytes.get(at + 1 + width) == Some(&b'\'')).then_some(at + 2 + width)
}

#[cfg(test)]
mod tests;
