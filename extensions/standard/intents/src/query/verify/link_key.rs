//! The key of a line: half a digest identifies it with half the memory.
//!
//! Pure.

use crate::hash::{PREFIX, content_hash};

/// Half of the hash of a line.
pub(crate) type LinkKey = [u8; 16];

/// The first half of a digest; other text is digested first.
pub(crate) fn key(link: &str) -> LinkKey {
    let digits = link.strip_prefix(PREFIX).filter(|digits| digits.len() == 64);
    let parsed = digits.and_then(|digits| u128::from_str_radix(digits.get(..32)?, 16).ok());
    match parsed {
        Some(number) => number.to_be_bytes(),
        None if link.starts_with(PREFIX) => key(&content_hash(format!("\0{link}").as_bytes())),
        None => key(&content_hash(link.as_bytes())),
    }
}

/// The key of a line without its line ending.
pub(crate) fn key_of_line(line: &[u8]) -> LinkKey {
    key(&content_hash(line))
}
