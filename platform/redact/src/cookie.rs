//! Session values in `Cookie` and `Set-Cookie` headers.
//!
//! Pure.

use crate::assignment::syntax;
use crate::span::{Span, SpanKind};
use crate::value;

const COOKIE: &str = "cookie";
const SHORTEST: usize = 8;
/// A cookie whose name holds one of these says who somebody is.
const SESSION_NAMES: [&[u8]; 8] = [b"sess", b"sid", b"auth", b"token", b"jwt", b"csrf", b"xsrf", b"remember"];

/// Reports the session values of the header whose name ends with the word at `at`.
pub(crate) fn search(text: &[u8], at: usize, spans: &mut Vec<Span>) -> usize {
    let Some(opening) = syntax::value_after(text, at + COOKIE.len()) else {
        return at;
    };
    let rest = text.get(opening.start..).unwrap_or_default();
    let line = rest.iter().position(|&byte| ends_header(byte)).unwrap_or(rest.len());
    let mut from = opening.start;
    for pair in rest.get(..line).unwrap_or_default().split(|&byte| byte == b';') {
        if let Some(equals) = pair.iter().position(|&byte| byte == b'=') {
            let (name, value) = pair.split_at(equals);
            let value = value.get(1..).unwrap_or_default();
            let blank = value.iter().position(u8::is_ascii_whitespace);
            let value = value.get(..blank.unwrap_or(value.len())).unwrap_or_default();
            if is_session_name(name) && is_session_value(value) {
                let start = from + equals + 1;
                let kind = SpanKind::Format("session-cookie");
                spans.push(Span::new(kind, at, start..start + value.len()));
            }
        }
        from += pair.len() + 1;
    }
    opening.start + line
}

fn ends_header(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r' | b'"' | b'\'' | b'`' | b'\\' | b'<' | b',')
}

fn is_session_name(name: &[u8]) -> bool {
    SESSION_NAMES.iter().any(|known| name.windows(known.len()).any(|part| part.eq_ignore_ascii_case(known)))
}

fn is_session_value(value: &[u8]) -> bool {
    value.len() >= SHORTEST
        && (value.iter().any(u8::is_ascii_digit) || value::is_scrambled(value))
        && !value::is_reference(value)
        && !value::is_mask(value)
        && !value::is_placeholder(value)
        && !value::is_label(value)
}
