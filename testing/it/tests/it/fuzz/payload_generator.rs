//! A seeded source of nonsense: bytes, JSON of any shape, and damaged versions of what is valid.

use serde_json::{Map, Value, json};

/// Random values that can be had again.
pub(super) struct PayloadGenerator(u64);

const WORDS: [&str; 24] = [
    "",
    "a",
    "..",
    "/",
    "../../etc/passwd",
    "\u{0}",
    "\u{feff}",
    "\u{202e}",
    "🦀",
    "\\",
    "\"",
    "\n",
    "%s",
    "null",
    "rm -rf /",
    "$(x)",
    "w001",
    "PreToolUse",
    "__proto__",
    "-1",
    "C:\\x",
    "~",
    "*",
    "ghp_0123456789abcdefghijABCDEFGHIJ456789",
];

const BYTES: [&[u8]; 14] = [
    b"\0",
    b"\xff",
    b"\xfe\xff",
    b"\xef\xbb\xbf",
    b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80",
    b"\"",
    b"\\u0000",
    b"\\ud800",
    b"{",
    b"]",
    b"1e999",
    b"-",
    b",",
];

impl PayloadGenerator {
    /// The dice of one case.
    pub(super) fn new(seed: u64, case: u64) -> Self {
        let mut generator = Self(seed ^ case.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        generator.next();
        generator
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`.
    pub(super) fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }

    /// Whether something with this many chances in a hundred happens.
    pub(super) fn happens(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub(super) fn one_of<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }

    /// Any bytes.
    pub(super) fn bytes(&mut self, longest: usize) -> Vec<u8> {
        (0..self.below(longest)).map(|_| self.next() as u8).collect()
    }

    fn text(&mut self) -> String {
        match self.below(12) {
            0 => "x".repeat(self.below(100_000)),
            1 => "(".repeat(self.below(3_000)),
            2 => String::from_utf8_lossy(&self.bytes(40)).into_owned(),
            _ => (0..=self.below(3)).map(|_| *self.one_of(&WORDS)).collect(),
        }
    }

    /// Any JSON value.
    pub(super) fn value(&mut self, depth: usize) -> Value {
        match self.below(if depth == 0 { 8 } else { 10 }) {
            0 => Value::Null,
            1 => self.happens(50).into(),
            2 => json!(self.next() as i64),
            3 => json!(u64::MAX),
            4 => json!(self.next() as f64 * 1e280),
            5..=7 => self.text().into(),
            8 => (0..self.below(5)).map(|_| self.value(depth - 1)).collect(),
            _ => (0..self.below(5)).map(|_| (self.text(), self.value(depth - 1))).collect::<Map<_, _>>().into(),
        }
    }

    /// The value with some of its parts exchanged, removed, doubled or wrapped.
    pub(super) fn damage_value(&mut self, value: &mut Value) {
        if self.happens(12) {
            *value = match self.below(4) {
                0 => Value::Array(vec![value.take()]),
                1 => Value::String(value.to_string()),
                2 => self.deep(),
                _ => self.value(3),
            };
            return;
        }
        match value {
            Value::Object(fields) => {
                if self.happens(10) && !fields.is_empty() {
                    let name = fields.keys().nth(self.below(fields.len())).cloned().unwrap_or_default();
                    fields.remove(&name);
                }
                if self.happens(8) {
                    fields.insert(self.text(), self.value(2));
                }
                fields.values_mut().for_each(|part| self.damage_value(part));
            }
            Value::Array(parts) => {
                if self.happens(10) && parts.len() < 50 {
                    parts.extend(parts.clone());
                }
                parts.iter_mut().for_each(|part| self.damage_value(part));
            }
            Value::String(text) if self.happens(20) => *text = format!("{text}{}", self.text()),
            _ => {}
        }
    }

    /// Nested as deep as a reader follows, or a little deeper.
    fn deep(&mut self) -> Value {
        (0..60 + self.below(60)).fold(Value::Null, |inner, _| json!([inner]))
    }

    /// The bytes cut, spliced, flipped, doubled or prefixed.
    pub(super) fn damage_bytes(&mut self, bytes: &mut Vec<u8>) {
        for _ in 0..=self.below(4) {
            let at = self.below(bytes.len() + 1);
            match self.below(8) {
                0 => bytes.truncate(at),
                1 => drop(bytes.splice(at..at, self.one_of(&BYTES).iter().copied())),
                2 => bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 1 << self.below(8)),
                3 => bytes.extend_from_within(at.min(bytes.len())..),
                4 => drop(bytes.splice(0..0, *b"\xef\xbb\xbf")),
                5 => drop(bytes.drain(at..(at + self.below(20)).min(bytes.len()))),
                6 => drop(bytes.splice(at..at, vec![b'['; self.below(2_000)])),
                _ => drop(bytes.splice(at..at, self.bytes(8))),
            }
        }
    }

    /// A text that was JSON once: damaged as a value, as bytes, or not at all; or nothing of the kind.
    pub(super) fn nonsense(&mut self, valid: &[u8]) -> Vec<u8> {
        let mut bytes = valid.to_vec();
        match (self.below(10), serde_json::from_slice::<Value>(valid)) {
            (0, _) => return self.bytes(400),
            (1, _) => return self.value(4).to_string().into_bytes(),
            (2..=7, Ok(mut value)) => {
                self.damage_value(&mut value);
                bytes = value.to_string().into_bytes();
                if self.happens(20) {
                    twice(&mut bytes);
                }
            }
            _ => self.damage_bytes(&mut bytes),
        }
        bytes
    }
}

/// Every key of the outermost object a second time.
fn twice(bytes: &mut Vec<u8>) {
    if bytes.starts_with(b"{") && bytes.len() > 2 {
        let inner = bytes[1..bytes.len() - 1].to_vec();
        bytes.splice(1..1, [inner.as_slice(), b","].concat());
    }
}
