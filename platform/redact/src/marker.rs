//! The text that stands in place of a secret, written and recognised.
//!
//! Pure.

use std::ops::Range;

use crate::options::Marker;

pub(crate) const PLAIN: &str = "[REDACTED]";
pub(crate) const OPENING: &str = "[REDACTED";
const FINGERPRINT_BYTES: usize = 8;

impl Marker {
    pub(crate) fn write(&self, secret: &[u8]) -> String {
        match self {
            Self::Plain => PLAIN.to_owned(),
            Self::Fingerprint(key) => format!("{OPENING}:{}]", key.of(secret)),
        }
    }
}

/// The marker that starts at `at`, if one does.
pub(crate) fn at(text: &[u8], at: usize) -> Option<Range<usize>> {
    let rest = text.get(at..)?.strip_prefix(OPENING.as_bytes())?;
    let length = match rest {
        [b']', ..] => 1,
        [b':', rest @ ..] => {
            let (hex, close) = rest.split_at_checked(FINGERPRINT_BYTES)?;
            let whole = hex.iter().all(u8::is_ascii_hexdigit) && close.starts_with(b"]");
            whole.then_some(FINGERPRINT_BYTES + 2)?
        }
        _ => return None,
    };
    Some(at..at + OPENING.len() + length)
}
