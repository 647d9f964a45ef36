//! Finds the literals of all built-in patterns in one pass, from tables that exist at compile time.
//!
//! Three bytes at a time are folded to 15 bits, in which a letter equals its other case, and
//! looked up in a 4 KiB bitmap. Nothing is built when the process starts, and text without a
//! secret costs one lookup per byte.
//!
//! Pure.

use crate::rules::{LITERAL_COUNT, RULES};

const GRAM_BYTES: usize = 3;
const FOLD_BITS: u32 = 5;
const GRAM_MASK: u32 = (1 << (FOLD_BITS * GRAM_BYTES as u32)) - 1;
const BITMAP_WORDS: usize = (GRAM_MASK as usize + 1) / 64;

/// A literal under the gram it starts with.
#[derive(Clone, Copy)]
struct PrefilterEntry {
    gram: u16,
    rule: u8,
    literal: u8,
}

static ENTRIES: [PrefilterEntry; LITERAL_COUNT] = sorted_entries();
static BITMAP: [u64; BITMAP_WORDS] = bitmap();

/// A literal of a built-in pattern that stands in a text.
#[derive(Clone, Copy)]
pub(crate) struct LiteralHit {
    /// The index of the rule in [`RULES`].
    pub(crate) rule: usize,
    pub(crate) at: usize,
    /// How long the literal is.
    pub(crate) length: usize,
}

/// Calls `found` for every literal in `text`, in the order in which they start.
pub(crate) fn literals(text: &[u8], mut found: impl FnMut(LiteralHit)) {
    let mut gram = 0;
    for (i, &byte) in text.iter().enumerate() {
        gram = roll(gram, byte);
        if BITMAP[(gram >> 6) as usize] >> (gram & 63) & 1 == 1
            && let Some(at) = (i + 1).checked_sub(GRAM_BYTES)
        {
            literals_at(text, at, gram, &mut found);
        }
    }
}

/// Where the first literal stands whose secret may still be coming. A literal that is itself cut off is in the last
/// word, as none has a blank in it but at its end.
pub(crate) fn undecided(text: &[u8]) -> Option<usize> {
    let mut first: Option<usize> = None;
    literals(text, |hit| {
        let is_open = RULES.get(hit.rule).is_none_or(|rule| rule.is_open(text, hit.at, hit.length));
        if is_open {
            first = Some(first.map_or(hit.at, |known| known.min(hit.at)));
        }
    });
    first
}

/// Whether a word, or the end of it, is the beginning of a literal. One or two letters are, of so many that they count
/// only where a part of the word starts.
pub(crate) fn begins_literal(word: &[u8]) -> bool {
    let from = word.iter().position(u8::is_ascii_alphanumeric).unwrap_or(0);
    let begins = |part: &[u8]| {
        let mut literals = RULES.iter().flat_map(|rule| rule.literals);
        literals.any(|literal| literal.as_bytes().get(..part.len()).is_some_and(|head| head.eq_ignore_ascii_case(part)))
    };
    let begins_part = |at: &usize| {
        let is_start = *at == from || word.get(at - 1).is_some_and(|before| !before.is_ascii_alphanumeric());
        is_start || word.len() - at >= GRAM_BYTES
    };
    let tails = (from..word.len()).filter(begins_part).filter_map(|at| word.get(at..));
    begins(word) || tails.into_iter().any(begins)
}

#[inline(never)]
fn literals_at(text: &[u8], at: usize, gram: u32, found: &mut impl FnMut(LiteralHit)) {
    let first = ENTRIES.partition_point(|entry| u32::from(entry.gram) < gram);
    let same = ENTRIES.iter().skip(first);
    for entry in same.take_while(|entry| u32::from(entry.gram) == gram) {
        let rule = RULES[entry.rule as usize];
        let literal = rule.literals[entry.literal as usize];
        if rule.literal_at(text, at, literal) {
            found(LiteralHit { rule: entry.rule as usize, at, length: literal.len() });
        }
    }
}

const fn roll(gram: u32, byte: u8) -> u32 {
    (gram << FOLD_BITS | (byte & ((1 << FOLD_BITS) - 1)) as u32) & GRAM_MASK
}

const fn gram_of(literal: &str) -> u16 {
    let bytes = literal.as_bytes();
    assert!(bytes.len() >= GRAM_BYTES, "a literal needs three bytes");
    roll(roll(roll(0, bytes[0]), bytes[1]), bytes[2]) as u16
}

const fn sorted_entries() -> [PrefilterEntry; LITERAL_COUNT] {
    let mut entries = [PrefilterEntry { gram: 0, rule: 0, literal: 0 }; LITERAL_COUNT];
    let mut count = 0;
    let mut rule = 0;
    while rule < RULES.len() {
        let literals = RULES[rule].literals;
        let mut literal = 0;
        while literal < literals.len() {
            let entry = PrefilterEntry { gram: gram_of(literals[literal]), rule: rule as u8, literal: literal as u8 };
            let mut place = count;
            while place > 0 && entries[place - 1].gram > entry.gram {
                entries[place] = entries[place - 1];
                place -= 1;
            }
            entries[place] = entry;
            count += 1;
            literal += 1;
        }
        rule += 1;
    }
    entries
}

const fn bitmap() -> [u64; BITMAP_WORDS] {
    let mut words = [0; BITMAP_WORDS];
    let mut i = 0;
    while i < ENTRIES.len() {
        let gram = ENTRIES[i].gram as usize;
        words[gram / 64] |= 1 << (gram % 64);
        i += 1;
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_literal_has_a_blank_but_at_its_end() {
        let literals = RULES.iter().flat_map(|rule| rule.literals);
        assert_eq!(literals.filter(|literal| literal.trim_end().contains(char::is_whitespace)).count(), 0);
    }
}
