//! How a name and its value are joined in shells, settings files, markup and programming languages.
//!
//! Pure.

use crate::limits::MAX_BLANK_BYTES;

/// What joins the name and the value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operator {
    Equals,
    Colon,
    /// `==` and its kin.
    Compares,
    /// Two neighbours in a list of quoted words.
    Comma,
    /// A command-line flag and its argument.
    Blank,
    /// An element of markup and its content.
    Element,
}

/// Where a value starts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ValueOpening {
    pub(crate) operator: Operator,
    /// Whether blank space stands before the operator.
    pub(crate) spaced: bool,
    pub(crate) quote: Option<Quote>,
    pub(crate) start: usize,
}

/// A quotation mark, with the backslashes it has inside another quotation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Quote {
    mark: u8,
    backslashes: usize,
}

impl ValueOpening {
    /// How long the value is that starts where `rest` does; it never crosses a line.
    pub(crate) fn length(&self, rest: &[u8]) -> usize {
        let Some(quote) = self.quote else {
            return rest.iter().position(|&byte| ends_bare(byte)).unwrap_or(rest.len());
        };
        let mut backslashes = 0;
        for (i, &byte) in rest.iter().enumerate() {
            if byte == b'\n' || byte == b'\r' {
                return i;
            }
            // A mark with more backslashes than the opening one is part of the value.
            if byte == quote.mark && backslashes <= quote.backslashes {
                return i - backslashes;
            }
            backslashes = if byte == b'\\' { backslashes + 1 } else { 0 };
        }
        rest.len()
    }
}

/// The value that an operator joins to the name that ends at `end`.
pub(crate) fn value_after(text: &[u8], end: usize) -> Option<ValueOpening> {
    let mut at = end;
    let closed = quote_at(text, at);
    at += closed.map_or(0, |quote| quote.backslashes + 1);
    at += usize::from(text.get(at) == Some(&b']'));
    let before = blank(text.get(at..)?);
    at += before;
    let (operator, length) = operator_at(text.get(at..)?)?;
    at += length;
    at += blank(text.get(at..)?);
    if operator == Operator::Comma && (closed.is_none() || quote_at(text, at).is_none()) {
        return None;
    }
    Some(open(text, at, operator, before > 0))
}

/// The value that begins right at `at`.
pub(crate) fn value_at(text: &[u8], at: usize) -> ValueOpening {
    open(text, at, Operator::Blank, false)
}

/// The argument after a flag that ends at `end`.
pub(crate) fn argument_after(text: &[u8], end: usize) -> Option<ValueOpening> {
    let blank = blank(text.get(end..)?);
    (blank > 0).then(|| open(text, end + blank, Operator::Blank, true))
}

/// The content of the element whose name stands between `start` and `end`.
pub(crate) fn element_after(text: &[u8], start: usize, end: usize) -> Option<ValueOpening> {
    let before = text.get(start.checked_sub(1)?)?;
    let element = *before == b'<' && text.get(end) == Some(&b'>');
    element.then_some(ValueOpening { operator: Operator::Element, spaced: false, quote: None, start: end + 1 })
}

/// How much blank space, on one line, `rest` starts with.
pub(crate) fn blank(rest: &[u8]) -> usize {
    let blank = |byte: &&u8| matches!(byte, b' ' | b'\t');
    rest.iter().take(MAX_BLANK_BYTES).take_while(blank).count()
}

fn open(text: &[u8], at: usize, operator: Operator, spaced: bool) -> ValueOpening {
    let prefix = string_prefix(text, at);
    let quote = quote_at(text, at + prefix);
    ValueOpening { operator, spaced, quote, start: quote.map_or(at, |quote| at + prefix + quote.backslashes + 1) }
}

/// `b"..."`, `r'...'`, `f"..."` and pairs of them.
fn string_prefix(text: &[u8], at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    let letter = |byte: &&u8| matches!(byte, b'b' | b'r' | b'u' | b'f' | b'B' | b'R' | b'c' | b'@');
    let letters = rest.iter().take(2).take_while(letter).count();
    if letters > 0 && matches!(rest.get(letters), Some(b'"' | b'\'')) { letters } else { 0 }
}

fn quote_at(text: &[u8], at: usize) -> Option<Quote> {
    const DEEPEST: usize = 8;
    let rest = text.get(at..)?;
    let backslashes = rest.iter().take(DEEPEST).take_while(|&&byte| byte == b'\\').count();
    let mark = *rest.get(backslashes)?;
    matches!(mark, b'"' | b'\'' | b'`').then_some(Quote { mark, backslashes })
}

fn operator_at(rest: &[u8]) -> Option<(Operator, usize)> {
    Some(match rest {
        [b'=', b'=', b'=', ..] => (Operator::Compares, 3),
        [b'=' | b'!', b'=', ..] => (Operator::Compares, 2),
        [b'=', b'>', ..] => (Operator::Colon, 2),
        [b'=', ..] => (Operator::Equals, 1),
        [b':', b':', ..] => return None,
        [b':' | b'?', b'=', ..] => (Operator::Equals, 2),
        [b':', ..] => typed(rest).unwrap_or((Operator::Colon, 1)),
        [b'%', b'3', b'D' | b'd', ..] => (Operator::Equals, 3),
        [b',', ..] => (Operator::Comma, 1),
        _ => return None,
    })
}

/// `: &str = "` and `: string = '`: a type stands between the name and its value.
fn typed(rest: &[u8]) -> Option<(Operator, usize)> {
    const LONGEST_TYPE: usize = 48;
    let in_type = |byte: &u8| {
        byte.is_ascii_alphanumeric()
            || matches!(byte, b' ' | b':' | b'&' | b'\'' | b'<' | b'>' | b'[' | b']' | b'_' | b'.' | b'|' | b'?')
    };
    let length = rest.iter().take(LONGEST_TYPE).take_while(|byte| in_type(byte)).count();
    // The blank tells a type from a credential with padding: `: Basic dTpw="`.
    let spaced = rest.get(..length)?.ends_with(b" ");
    let after = rest.get(length..)?.strip_prefix(b"=")?;
    let value = blank(after);
    let quoted = matches!(after.get(value..)?, [b'"' | b'\'' | b'`', ..] | [b'b' | b'r' | b'c', b'"', ..]);
    (quoted && spaced).then_some((Operator::Equals, length + 1))
}

fn ends_bare(byte: u8) -> bool {
    byte.is_ascii_whitespace()
        || byte.is_ascii_control()
        || matches!(byte, b',' | b';' | b'&' | b')' | b']' | b'}' | b'"' | b'\'' | b'`' | b'<' | b'>' | b'|' | b'\\')
}
