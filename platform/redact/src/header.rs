//! Credentials in `Authorization` headers, and bearer tokens wherever they are quoted.
//!
//! Pure.

use crate::assignment::syntax;
use crate::charset::{ALNUM, CREDENTIAL};
use crate::edge;
use crate::span::{Span, SpanKind};
use crate::value;

const AUTHORIZATION: &str = "authorization";
const BEARER: &str = "bearer ";
/// Schemes that hold the credential as one word.
const SCHEMES: [&str; 9] = ["bearer", "basic", "token", "apikey", "api-key", "key", "bot", "splunk", "negotiate"];
const SHORTEST: usize = 8;
/// Where only the word `Bearer` speaks for a credential.
const SHORTEST_BARE: usize = 16;

/// Reports the credential of the header whose name stands at `at`.
pub(crate) fn search(text: &[u8], at: usize, spans: &mut Vec<Span>) -> usize {
    let Some(opening) = syntax::value_after(text, at + AUTHORIZATION.len()) else {
        return at;
    };
    let rest = text.get(opening.start..).unwrap_or_default();
    let scheme = ALNUM.run(rest);
    let blank = syntax::blank(rest.get(scheme..).unwrap_or_default());
    let word = rest.get(..scheme).unwrap_or_default();
    let known = SCHEMES.iter().any(|known| word.eq_ignore_ascii_case(known.as_bytes()));
    if known && blank > 0 {
        let basic = word.eq_ignore_ascii_case(b"basic");
        report(text, at, opening.start + scheme + blank, spans, |credential| {
            (basic && is_basic(credential)) || is_credential(credential)
        })
    } else {
        report(text, at, opening.start, spans, value::is_strong)
    }
}

/// Reports the token after the word `Bearer` at `at`.
pub(crate) fn search_bearer(text: &[u8], at: usize, spans: &mut Vec<Span>) -> usize {
    if edge::starts_word(text, at) {
        report(text, at, at + BEARER.len(), spans, |credential| {
            credential.len() >= SHORTEST_BARE && is_credential(credential)
        })
    } else {
        at
    }
}

fn report(
    text: &[u8],
    context: usize,
    start: usize,
    spans: &mut Vec<Span>,
    is_secret: impl Fn(&[u8]) -> bool,
) -> usize {
    let rest = text.get(start..).unwrap_or_default();
    let length = CREDENTIAL.run(rest);
    let credential = rest.get(..length).unwrap_or_default();
    if is_secret(credential) {
        let kind = SpanKind::Format("authorization-header");
        spans.push(Span::new(kind, context, start..start + length));
    }
    start + length
}

fn is_credential(credential: &[u8]) -> bool {
    let shaped = credential.iter().any(u8::is_ascii_digit) || value::is_scrambled(credential);
    credential.len() >= SHORTEST
        && shaped
        && !value::is_placeholder(credential)
        && !value::is_mask(credential)
        && !value::is_label(credential)
}

/// Whether the base64 text holds `user:password`.
fn is_basic(credential: &[u8]) -> bool {
    let (mut bits, mut held, mut colon) = (0u32, 0u32, false);
    for &byte in credential.iter().filter(|&&byte| byte != b'=') {
        let six = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return false,
        };
        bits = bits << 6 | u32::from(six);
        held += 6;
        if held >= 8 {
            held -= 8;
            colon |= (bits >> held) & 0xff == u32::from(b':');
        }
    }
    colon
}
