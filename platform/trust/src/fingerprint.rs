//! Identifies content by its SHA-256.
//!
//! Pure.

use sha2::{Digest, Sha256};

/// SHA-256 in lower-case hex.
#[must_use]
pub fn fingerprint(content: &[u8]) -> String {
    let digest = Sha256::digest(content);
    let digits = digest.iter().flat_map(|byte| [byte >> 4, byte & 0x0f]);
    digits.filter_map(|digit| char::from_digit(u32::from(digit), 16)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_known_hash() {
        assert!(fingerprint(b"abc").starts_with("ba7816bf8f01cfea"));
        assert_eq!(fingerprint(b"").len(), 64);
    }
}
