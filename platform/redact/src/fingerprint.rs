//! A keyed fingerprint, so that one secret is recognised on many lines without being known.
//!
//! Pure.

use std::fmt;

use sha2::{Digest, Sha256};

const BLOCK_BYTES: usize = 64;
const SHOWN_BYTES: usize = 4;

/// The key of the fingerprints; without it a guess cannot be tested against one.
#[derive(Clone)]
pub struct FingerprintKey {
    block: [u8; BLOCK_BYTES],
}

impl FingerprintKey {
    /// Takes a key of any length; 16 random bytes or more are advised.
    pub fn new(key: &[u8]) -> Self {
        let mut block = [0; BLOCK_BYTES];
        if key.len() > BLOCK_BYTES {
            let hashed = Sha256::digest(key);
            block.iter_mut().zip(hashed).for_each(|(to, from)| *to = from);
        } else {
            block.iter_mut().zip(key).for_each(|(to, from)| *to = *from);
        }
        Self { block }
    }

    /// The first eight hex digits of HMAC-SHA-256 of `secret`.
    pub(crate) fn of(&self, secret: &[u8]) -> String {
        let inner = Sha256::new().chain_update(self.block.map(|byte| byte ^ 0x36)).chain_update(secret).finalize();
        let outer = Sha256::new().chain_update(self.block.map(|byte| byte ^ 0x5c)).chain_update(inner).finalize();
        outer.iter().take(SHOWN_BYTES).map(|byte| format!("{byte:02x}")).collect()
    }
}

impl fmt::Debug for FingerprintKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FingerprintKey(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_published_vectors() {
        let cases: [(&[u8], &[u8], &str); 3] = [
            (&[0x0b; 20], b"Hi There", "b0344c61"),
            (b"Jefe", b"what do ya want for nothing?", "5bdcc146"),
            (&[0xaa; 131], b"Test Using Larger Than Block-Size Key - Hash Key First", "60e43159"),
        ];
        for (key, message, expected) in cases {
            assert_eq!(FingerprintKey::new(key).of(message), expected);
        }
    }
}
