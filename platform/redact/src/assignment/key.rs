//! Which names promise a secret, and where such a name starts and ends.
//!
//! Pure.

use crate::charset::DOTTED;
use crate::edge;
use crate::limits::MAX_KEY_BYTES;

/// The words a secret's name ends with.
pub(crate) const KEYWORDS: &[&str] =
    &["passphrase", "passcode", "password", "passwd", "pass", "pwd", "credential", "secret", "token", "auth", "key"];

/// A `key` is a secret only after one of these.
const KEY_QUALIFIERS: [&[u8]; 17] = [
    b"api",
    b"access",
    b"secret",
    b"private",
    b"auth",
    b"account",
    b"encryption",
    b"signing",
    b"master",
    b"shared",
    b"service",
    b"session",
    b"storage",
    b"subscription",
    b"deploy",
    b"admin",
    b"app",
];

/// What kind of value the name promises.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyClass {
    /// Chosen by a person: may be short.
    Password,
    /// Made by a machine: long and random.
    Token,
}

/// A secret's name in a text.
pub(crate) struct AssignmentKey {
    pub(crate) class: KeyClass,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// The key whose keyword stands at `at`, if that keyword ends it.
pub(crate) fn around(text: &[u8], at: usize) -> Option<AssignmentKey> {
    let (keyword, class) = keyword_at(text, at)?;
    let head = text.get(..at)?;
    let qualified = match keyword {
        "key" => is_qualified(head),
        "auth" | "pass" | "pwd" => starts_part(text, at),
        _ => true,
    };
    let end = at + keyword.len() + suffix(keyword, text.get(at + keyword.len()..)?);
    let ends = text.get(end).is_none_or(|&byte| !edge::is_word(byte) && byte != b'-');
    (qualified && ends).then(|| AssignmentKey { class, start: start_of(text, at), end })
}

/// The name starts after what may not be in one, and after an escape such as `\n`.
fn start_of(text: &[u8], at: usize) -> usize {
    let head = text.get(..at).unwrap_or_default();
    let start = at - DOTTED.run_back(head, MAX_KEY_BYTES);
    let escaped = edge::before(text, start) == Some(b'\\') && matches!(text.get(start), Some(b'n' | b'r' | b't'));
    (start + usize::from(escaped)).min(at)
}

/// What the name of a field promises, if it promises a secret.
pub(crate) fn class_of(name: &str) -> Option<KeyClass> {
    let name = name.as_bytes();
    let tail = name.len().saturating_sub(MAX_KEY_BYTES);
    (tail..name.len()).find_map(|at| {
        let key = around(name, at)?;
        (key.end == name.len()).then_some(key.class)
    })
}

fn keyword_at(text: &[u8], at: usize) -> Option<(&'static str, KeyClass)> {
    let rest = text.get(at..)?;
    // Most letters begin no keyword, and this is asked of each letter of each name.
    let begins = [rest.first()?.to_ascii_lowercase(), rest.get(1)?.to_ascii_lowercase()];
    if !matches!(&begins, b"pa" | b"pw" | b"cr" | b"se" | b"to" | b"au" | b"ke") {
        return None;
    }
    let keyword = KEYWORDS.iter().find(|keyword| {
        rest.get(..keyword.len()).is_some_and(|found| found.eq_ignore_ascii_case(keyword.as_bytes()))
    })?;
    let password = keyword.starts_with("pass") || *keyword == "pwd";
    Some((keyword, if password { KeyClass::Password } else { KeyClass::Token }))
}

/// Whether a part of a compound name starts at `at`: `db_pass`, `dbPass`, but not `compass`.
fn starts_part(text: &[u8], at: usize) -> bool {
    let capital = text.get(at).is_some_and(u8::is_ascii_uppercase);
    match edge::before(text, at) {
        Some(byte) if byte.is_ascii_lowercase() => capital || edge::starts_word(text, at),
        Some(byte) if byte.is_ascii_alphanumeric() => edge::starts_word(text, at),
        _ => true,
    }
}

fn is_qualified(head: &[u8]) -> bool {
    let head = match head {
        [rest @ .., b'_' | b'-' | b'.'] => rest,
        _ => head,
    };
    KEY_QUALIFIERS.iter().any(|qualifier| {
        head.len()
            .checked_sub(qualifier.len())
            .and_then(|from| head.get(from..))
            .is_some_and(|tail| tail.eq_ignore_ascii_case(qualifier))
    })
}

/// What may follow the keyword: `secret_key`, `credentials`, `password2`.
fn suffix(keyword: &str, rest: &[u8]) -> usize {
    let suffixes: &[&[u8]] = match keyword {
        "secret" => &[b"_key", b"-key", b"key", b"_value"],
        "credential" => &[b"s"],
        _ => &[b"_value"],
    };
    let named = suffixes
        .iter()
        .find(|suffix| {
            let end = rest.get(suffix.len()).is_none_or(|&byte| !edge::is_word(byte));
            end && rest.get(..suffix.len()).is_some_and(|found| found.eq_ignore_ascii_case(suffix))
        })
        .map_or(0, |suffix| suffix.len());
    let digits = rest.iter().skip(named).take(2).take_while(|byte| byte.is_ascii_digit()).count();
    named + digits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_keyword_is_seen_in_any_case() {
        for keyword in KEYWORDS {
            for text in [(*keyword).to_owned(), keyword.to_ascii_uppercase()] {
                assert!(keyword_at(text.as_bytes(), 0).is_some(), "{text}");
            }
        }
        assert!(keyword_at(b"name", 0).is_none());
    }
}
