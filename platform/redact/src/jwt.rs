//! JSON Web Tokens, signed (three parts) or encrypted (five).
//!
//! Pure.

use crate::charset::BASE64_URL;
use crate::edge;
use crate::span::{Span, SpanKind};

/// How every JSON object starts in base64.
pub(crate) const OPENING: &str = "eyJ";
const SHORTEST_PART: usize = 10;
const SHORTEST_SIGNATURE: usize = 20;
const MOST_PARTS: usize = 5;

/// Reports the token that opens at `at`.
pub(crate) fn search(text: &[u8], at: usize, spans: &mut Vec<Span>) -> usize {
    let starts = edge::starts_word(text, at) && edge::before(text, at) != Some(b'-');
    if !starts {
        return at;
    }
    let mut end = at;
    let mut lengths = [0usize; MOST_PARTS];
    let mut payload = at;
    for (index, length) in lengths.iter_mut().enumerate() {
        if index > 0 {
            if text.get(end) != Some(&b'.') {
                break;
            }
            end += 1;
        }
        if index == 1 {
            payload = end;
        }
        *length = BASE64_URL.run(text.get(end..).unwrap_or_default());
        end += *length;
    }
    let [header, body, third, ..] = lengths;
    let object = text.get(payload..).unwrap_or_default().starts_with(OPENING.as_bytes());
    let signed = body >= SHORTEST_PART && (object || third >= SHORTEST_SIGNATURE);
    // A direct-key encrypted token has an empty second part.
    let encrypted = body == 0 && third >= SHORTEST_PART;
    if header < SHORTEST_PART || !(signed || encrypted) {
        return at;
    }
    let end = end - usize::from(text.get(end - 1) == Some(&b'.'));
    spans.push(Span::new(SpanKind::Format("jwt"), at, at..end));
    end
}
