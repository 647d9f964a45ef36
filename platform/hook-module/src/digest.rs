//! Content hashes as records show them.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use dispatch_os::digest::{sha256, sha256_of_parts};
use serde_json::Value;

/// Hex digits of a hash that only tells things apart within one session.
const SHORT_DIGITS: usize = 16;

/// SHA-256 in lower-case hex.
#[must_use]
pub fn sha256_hex(bytes: &[u8]) -> String {
    hex(&sha256(bytes))
}

/// The first digits of that, for names that people see.
#[must_use]
pub fn sha256_start(bytes: &[u8], digits: usize) -> String {
    let mut text = sha256_hex(bytes);
    text.truncate(digits);
    text
}

/// SHA-256 of the compact JSON text.
#[must_use]
pub fn sha256_of_json(value: &Value) -> String {
    sha256_hex(value.to_string().as_bytes())
}

/// Tells one content of several files from another, quickly. No more than that: it is not cryptographic.
#[must_use]
pub fn fingerprint(parts: &[&[u8]]) -> String {
    let mut hasher = DefaultHasher::new();
    parts.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

/// The first digits of the hash over several parts; where one part ends matters.
#[must_use]
pub fn short_key(parts: &[&[u8]]) -> String {
    let lengths: Vec<[u8; 8]> = parts.iter().map(|part| (part.len() as u64).to_le_bytes()).collect();
    let marked: Vec<&[u8]> = lengths.iter().zip(parts).flat_map(|(length, part)| [length.as_slice(), part]).collect();
    let mut text = hex(&sha256_of_parts(&marked));
    text.truncate(SHORT_DIGITS);
    text
}

fn hex(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 0x0f]);
    digits.filter_map(|digit| char::from_digit(u32::from(digit), 16)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_hex_and_keep_parts_apart() {
        assert!(sha256_hex(b"abc").starts_with("ba7816bf8f01cfea"));
        assert_eq!(sha256_hex(b"").len(), 64);
        assert_eq!(sha256_start(b"abc", 8), "ba7816bf");
        assert_ne!(short_key(&[b"ab", b"c"]), short_key(&[b"a", b"bc"]));
        assert_eq!(short_key(&[]).len(), 16);
    }
}
