//! Identifiers: sortable ULIDs, UUIDs and short hex ids, all from the system's random source.

use std::fmt;
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};

pub use uuid::Uuid;

use crate::time;

const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const ULID_LENGTH: usize = 26;
const RANDOM_BITS: u32 = 80;
#[cfg(target_os = "linux")]
const RANDOM_BYTES: usize = 14;
const RANDOM_MASK: u128 = (1 << RANDOM_BITS) - 1;
const TIME_MASK: u128 = (1 << 48) - 1;

/// The most digits [`hex_id`] gives.
pub const MAX_HEX_DIGITS: usize = 64;

/// A 128-bit id whose text sorts by creation time: 48 bits of milliseconds, then 80 random bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ulid(u128);

impl Ulid {
    /// A new id, greater than every id this process has generated before, even if the clock jumped back.
    pub fn generate() -> Self {
        static LATEST: Mutex<u128> = Mutex::new(0);
        let mut latest = LATEST.lock().unwrap_or_else(PoisonError::into_inner);
        *latest = successor(*latest, time::unix_ms(), random_u112() & RANDOM_MASK);
        Self(*latest)
    }

    /// The id with this value.
    pub const fn from_u128(value: u128) -> Self {
        Self(value)
    }

    /// The id as a number; numbers sort as texts do.
    pub const fn as_u128(self) -> u128 {
        self.0
    }

    /// The wall time in the id, in Unix milliseconds.
    pub fn unix_ms(self) -> i64 {
        i64::try_from(self.0 >> RANDOM_BITS).unwrap_or(i64::MAX)
    }
}

/// A fresh id for this time, or the next number after `latest` when the time has not moved on.
fn successor(latest: u128, wall_ms: i64, random: u128) -> u128 {
    let time = u128::try_from(wall_ms).unwrap_or(0) & TIME_MASK;
    if time > latest >> RANDOM_BITS { time << RANDOM_BITS | random } else { latest.saturating_add(1) }
}

impl fmt::Display for Ulid {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::with_capacity(ULID_LENGTH);
        for position in (0..ULID_LENGTH).rev() {
            let digit = (self.0 >> (position * 5)) as usize & 31;
            text.push(char::from(ALPHABET[digit]));
        }
        formatter.pad(&text)
    }
}

/// The text is not a ULID.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a ULID: expected 26 digits of Crockford base 32, the first at most 7")]
pub struct UlidParseError;

impl FromStr for Ulid {
    type Err = UlidParseError;

    /// Reads upper and lower case; the look-alikes I, L, O are not accepted, so an id has one spelling per case.
    fn from_str(text: &str) -> Result<Self, UlidParseError> {
        if text.len() != ULID_LENGTH || text.as_bytes().first().is_none_or(|first| *first > b'7') {
            return Err(UlidParseError);
        }
        text.bytes().try_fold(Self(0), |Self(value), byte| {
            let upper = byte.to_ascii_uppercase();
            let digit = ALPHABET.iter().position(|letter| *letter == upper);
            digit.map(|digit| Self(value << 5 | digit as u128)).ok_or(UlidParseError)
        })
    }
}

/// A UUID that sorts by creation time.
pub fn uuid_v7() -> Uuid {
    Uuid::now_v7()
}

/// A UUID with nothing but random bits.
pub fn uuid_v4() -> Uuid {
    Uuid::new_v4()
}

/// A random id of lower-case hex digits; at least 1 and at most [`MAX_HEX_DIGITS`].
pub fn hex_id(digits: usize) -> String {
    let digits = digits.clamp(1, MAX_HEX_DIGITS);
    let mut text = String::with_capacity(digits + 28);
    while text.len() < digits {
        text.push_str(&format!("{:028x}", random_u112()));
    }
    text.truncate(digits);
    text
}

/// Straight from the system: a static program cannot look up the C library's function by name, so the library behind
/// UUIDs would open the two random devices instead.
#[cfg(target_os = "linux")]
fn random_u112() -> u128 {
    let mut bytes = [0_u8; RANDOM_BYTES];
    #[allow(unsafe_code, reason = "the system call has no safe wrapper without another feature of rustix")]
    // SAFETY: the pointer and the length describe a live array.
    let filled = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) };
    if usize::try_from(filled) == Ok(RANDOM_BYTES) { number_of(bytes) } else { random_uuid_bits() }
}

#[cfg(not(target_os = "linux"))]
fn random_u112() -> u128 {
    random_uuid_bits()
}

fn random_uuid_bits() -> u128 {
    // Bytes 6 and 8 of a version 4 UUID carry the fixed version and variant bits.
    let uuid = Uuid::new_v4();
    let bytes = uuid.as_bytes().iter().enumerate().filter(|(position, _)| *position != 6 && *position != 8);
    number_of(bytes.map(|(_, byte)| *byte))
}

fn number_of(bytes: impl IntoIterator<Item = u8>) -> u128 {
    bytes.into_iter().fold(0, |value, byte| value << 8 | u128::from(byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    #[test]
    fn known_values_have_known_texts() {
        let cases = [
            (0, "00000000000000000000000000"),
            (u128::MAX, "7ZZZZZZZZZZZZZZZZZZZZZZZZZ"),
            (0x0156_3E3A_B5D3_D676_4C61_EFB9_9302_BD5B, "01ARZ3NDEKTSV4RRFFQ69G5FAV"),
        ];
        for (value, text) in cases {
            assert_eq!(Ulid::from_u128(value).to_string(), text);
            assert_eq!(text.parse(), Ok(Ulid::from_u128(value)));
            assert_eq!(text.to_lowercase().parse::<Ulid>(), Ok(Ulid::from_u128(value)));
        }
    }

    #[test]
    fn texts_that_are_not_ulids_are_refused() {
        for bad in [
            "",
            "01ARZ3NDEKTSV4RRFFQ69G5FA",
            "01ARZ3NDEKTSV4RRFFQ69G5FAVX",
            "81ARZ3NDEKTSV4RRFFQ69G5FAV",
            "01ARZ3NDEKTSV4RRFFQ69G5FAU",
            "01ARZ3NDEKTSV4RRFFQ69G5FAI",
            "01ARZ3NDEKTSV4RRFFQ69G5F\u{e9}",
        ] {
            assert_eq!(bad.parse::<Ulid>(), Err(UlidParseError), "{bad}");
        }
    }

    #[test]
    fn ids_of_many_threads_are_unique_and_each_thread_sees_them_rise() {
        let threads: Vec<_> =
            (0..8).map(|_| std::thread::spawn(|| (0..2_000).map(|_| Ulid::generate()).collect::<Vec<_>>())).collect();
        let mut seen = HashSet::new();
        for thread in threads {
            let ids = thread.join().unwrap();
            assert!(ids.is_sorted());
            assert!(ids.iter().map(ToString::to_string).collect::<Vec<_>>().is_sorted());
            seen.extend(ids);
        }
        assert_eq!(seen.len(), 16_000);
    }

    #[test]
    fn a_clock_that_jumps_back_does_not_lower_the_next_id() {
        let first = successor(0, 1_000, RANDOM_MASK);
        let second = successor(first, 10, 0);
        let third = successor(second, -5, 0);
        assert!(first < second && second < third);
        assert_eq!(successor(third, 2_000, 7), 2_000 << RANDOM_BITS | 7);
    }

    #[test]
    fn an_id_carries_its_time() {
        let before = time::unix_ms();
        let id = Ulid::generate();
        assert!(id.unix_ms() >= before && id.unix_ms() <= time::unix_ms() + 60_000);
    }

    #[test]
    fn uuids_and_hex_ids_have_their_shape() {
        assert_eq!(uuid_v7().get_version_num(), 7);
        assert_eq!(uuid_v4().get_version_num(), 4);
        assert!(uuid_v7() < uuid_v7());
        for (asked, given) in [(0, 1), (1, 1), (8, 8), (29, 29), (64, 64), (1_000, 64)] {
            let id = hex_id(asked);
            assert_eq!(id.len(), given);
            assert!(id.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')));
        }
        assert_ne!(hex_id(16), hex_id(16));
    }

    proptest! {
        #[test]
        fn text_round_trips_and_sorts_like_the_number(left: u128, right: u128) {
            let (left, right) = (Ulid::from_u128(left), Ulid::from_u128(right));
            prop_assert_eq!(left.to_string().parse(), Ok(left));
            prop_assert_eq!(left.cmp(&right), left.to_string().cmp(&right.to_string()));
        }
    }
}
