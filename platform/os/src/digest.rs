//! SHA-256 of short texts at once: asking the processor for its instructions takes longer than doing without them.
//!
//! On a virtual machine the host answers each such question, which costs as much as hashing a kilobyte in plain code.
//!
//! Pure.

use sha2::{Digest, Sha256};
use std::fmt::Write as _;

/// Up to here plain code is used.
const SHORT_BYTES: usize = 1024;
const BLOCK_BYTES: usize = 64;
const LENGTH_BYTES: usize = 8;

/// SHA-256.
#[must_use]
pub fn sha256(bytes: &[u8]) -> [u8; 32] {
    if bytes.len() <= SHORT_BYTES { plain(bytes) } else { Sha256::digest(bytes).into() }
}

/// The same of several parts in a row.
#[must_use]
pub fn sha256_of_parts(parts: &[&[u8]]) -> [u8; 32] {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    if length <= SHORT_BYTES {
        return plain(&parts.concat());
    }
    let mut hasher = Sha256::new();
    parts.iter().for_each(|part| hasher.update(part));
    hasher.finalize().into()
}

/// Bytes in hex, two digits each.
#[must_use]
pub fn hex(bytes: impl IntoIterator<Item = u8>) -> String {
    let mut text = String::new();
    for byte in bytes {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

fn plain(bytes: &[u8]) -> [u8; 32] {
    let mut state = START;
    let (blocks, rest) = bytes.as_chunks::<BLOCK_BYTES>();
    for block in blocks {
        compress(&mut state, block);
    }
    // The end is marked by one bit and the length in bits, in a block of its own if need be.
    let mut last = [0; 2 * BLOCK_BYTES];
    let length = if rest.len() + 1 + LENGTH_BYTES <= BLOCK_BYTES { BLOCK_BYTES } else { 2 * BLOCK_BYTES };
    let bits = (bytes.len() as u64).wrapping_mul(8).to_be_bytes();
    let ending = rest.iter().copied().chain([0x80]);
    last.iter_mut().zip(ending).for_each(|(place, byte)| *place = byte);
    last.iter_mut().take(length).rev().zip(bits.iter().rev()).for_each(|(place, byte)| *place = *byte);
    for block in last.as_chunks::<BLOCK_BYTES>().0.iter().take(length / BLOCK_BYTES) {
        compress(&mut state, block);
    }
    let mut digest = [0; 32];
    digest.as_chunks_mut::<4>().0.iter_mut().zip(state).for_each(|(place, word)| *place = word.to_be_bytes());
    digest
}

fn compress(state: &mut [u32; 8], block: &[u8; BLOCK_BYTES]) {
    let mut words = [0_u32; 64];
    words.iter_mut().zip(block.as_chunks::<4>().0).for_each(|(word, bytes)| *word = u32::from_be_bytes(*bytes));
    for at in 16..64 {
        let (early, late) = (words[at - 15], words[at - 2]);
        let early = early.rotate_right(7) ^ early.rotate_right(18) ^ (early >> 3);
        let late = late.rotate_right(17) ^ late.rotate_right(19) ^ (late >> 10);
        words[at] = words[at - 16].wrapping_add(early).wrapping_add(words[at - 7]).wrapping_add(late);
    }
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = *state;
    for (word, constant) in words.iter().zip(ROUNDS) {
        let choice = (e & f) ^ (!e & g);
        let majority = (a & b) ^ (a & c) ^ (b & c);
        let mixed_e = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
        let mixed_a = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
        let first = h.wrapping_add(mixed_e).wrapping_add(choice).wrapping_add(constant).wrapping_add(*word);
        let second = mixed_a.wrapping_add(majority);
        (h, g, f, e, d, c, b, a) = (g, f, e, d.wrapping_add(first), c, b, a, first.wrapping_add(second));
    }
    state.iter_mut().zip([a, b, c, d, e, f, g, h]).for_each(|(sum, word)| *sum = sum.wrapping_add(word));
}

/// The first bits of the fractions of the square roots of the first primes.
const START: [u32; 8] =
    [0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19];

/// The same of the cube roots.
#[rustfmt::skip]
const ROUNDS: [u32; 64] = [
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_around_a_block_hashes_as_the_library_does() {
        let bytes: Vec<u8> = (0..3 * SHORT_BYTES).map(|at| (at * 31 % 251) as u8).collect();
        for length in (0..300).chain(SHORT_BYTES - 70..SHORT_BYTES + 70) {
            let text = &bytes[..length];
            let expected: [u8; 32] = Sha256::digest(text).into();
            assert_eq!((plain(text), sha256(text)), (expected, expected), "{length}");
            let (start, end) = text.split_at(length / 3);
            assert_eq!(sha256_of_parts(&[start, end]), expected, "{length}");
        }
    }
}
