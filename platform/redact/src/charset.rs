//! Sets of bytes, built at compile time, in which the bodies of tokens are described.
//!
//! Pure.

/// A set of bytes.
#[derive(Clone, Copy)]
pub(crate) struct Charset([u64; 4]);

impl Charset {
    const fn of(bytes: &[u8]) -> Self {
        let mut set = [0u64; 4];
        let mut i = 0;
        while i < bytes.len() {
            set[(bytes[i] >> 6) as usize] |= 1 << (bytes[i] & 63);
            i += 1;
        }
        Self(set)
    }

    const fn and(self, bytes: &[u8]) -> Self {
        let more = Self::of(bytes).0;
        let own = self.0;
        Self([own[0] | more[0], own[1] | more[1], own[2] | more[2], own[3] | more[3]])
    }

    pub(crate) const fn contains(self, byte: u8) -> bool {
        self.0[(byte >> 6) as usize] >> (byte & 63) & 1 == 1
    }

    /// How many bytes from the start of `bytes` are in the set.
    pub(crate) fn run(self, bytes: &[u8]) -> usize {
        bytes.iter().position(|&byte| !self.contains(byte)).unwrap_or(bytes.len())
    }

    /// How many bytes before the end of `bytes` are in the set, looking at no more than `limit`.
    pub(crate) fn run_back(self, bytes: &[u8], limit: usize) -> usize {
        bytes.iter().rev().take(limit).take_while(|&&byte| self.contains(byte)).count()
    }
}

pub(crate) const DIGIT: Charset = Charset::of(b"0123456789");
pub(crate) const HEX: Charset = DIGIT.and(b"abcdefABCDEF");
pub(crate) const UPPER_DIGIT: Charset = DIGIT.and(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ");
pub(crate) const LOWER_DIGIT: Charset = DIGIT.and(b"abcdefghijklmnopqrstuvwxyz");
pub(crate) const ALNUM: Charset = UPPER_DIGIT.and(b"abcdefghijklmnopqrstuvwxyz");
pub(crate) const WORD: Charset = ALNUM.and(b"_");
/// Base64 in its URL-safe alphabet.
pub(crate) const BASE64_URL: Charset = WORD.and(b"-");
/// Base64 in its standard alphabet, with padding.
pub(crate) const BASE64: Charset = ALNUM.and(b"+/=");
/// Either alphabet of base64, with padding.
pub(crate) const BASE64_ANY: Charset = BASE64_URL.and(b"+/=");
pub(crate) const DOTTED: Charset = BASE64_URL.and(b".");
/// One path with its segments, as in a webhook address.
pub(crate) const PATH: Charset = DOTTED.and(b"/@%~");
/// What a percent-encoded value is made of.
pub(crate) const PERCENT: Charset = BASE64_ANY.and(b"%.");
/// What a `token68` credential of an HTTP header is made of, and what tokens in use add to it.
pub(crate) const CREDENTIAL: Charset = BASE64_ANY.and(b".~:|");
