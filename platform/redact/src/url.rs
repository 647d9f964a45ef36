//! Passwords in URLs: scheme, user and host stay, the password goes.
//!
//! Pure.

use crate::charset::ALNUM;
use crate::edge;
use crate::limits::MAX_USERINFO_BYTES;
use crate::span::{Span, SpanKind};
use crate::value;

pub(crate) const SEPARATOR: &str = "://";

/// Reports the password of the URL whose `://` stands at `at`.
pub(crate) fn search(text: &[u8], at: usize, spans: &mut Vec<Span>) -> usize {
    // At the beginning of a text the scheme may have gone out before.
    if edge::before(text, at).is_some_and(|byte| !ALNUM.contains(byte)) {
        return at;
    }
    let start = at + SEPARATOR.len();
    let rest = text.get(start..).unwrap_or_default();
    let rest = rest.get(..rest.len().min(MAX_USERINFO_BYTES)).unwrap_or_default();
    let Some(userinfo) = userinfo(rest) else {
        return at;
    };
    let Some(colon) = userinfo.iter().position(|&byte| byte == b':') else {
        return at;
    };
    let password = userinfo.get(colon + 1..).unwrap_or_default();
    if password.is_empty() || value::is_reference(password) || value::is_mask(password) {
        return at;
    }
    let from = start + colon + 1;
    let context = at.saturating_sub(ALNUM.run_back(text.get(..at).unwrap_or_default(), 16));
    let end = from + password.len();
    spans.push(Span::new(SpanKind::Format("url-password"), context, from..end));
    end
}

/// What stands before the last `@` of the authority.
fn userinfo(rest: &[u8]) -> Option<&[u8]> {
    let whole = rest.get(..rest.iter().position(|&byte| ends_url(byte)).unwrap_or(rest.len()))?;
    let authority_end = whole.iter().position(|&byte| matches!(byte, b'/' | b'?' | b'#'));
    let authority = whole.get(..authority_end.unwrap_or(whole.len()))?;
    if let Some(at) = authority.iter().rposition(|&byte| byte == b'@') {
        return authority.get(..at);
    }
    // `user:pa/ss@host`: a password that was not escaped. A port would be all digits.
    let colon = authority.iter().position(|&byte| byte == b':')?;
    let port = authority.get(colon + 1..)?;
    let literal_address = authority.first() == Some(&b'[');
    if port.iter().all(u8::is_ascii_digit) || literal_address {
        return None;
    }
    let at = whole.iter().position(|&byte| byte == b'@')?;
    whole.get(..at)
}

fn ends_url(byte: u8) -> bool {
    byte.is_ascii_whitespace()
        || byte.is_ascii_control()
        || matches!(byte, b'"' | b'\'' | b'`' | b'<' | b'>' | b'\\' | b',' | b'|')
}
