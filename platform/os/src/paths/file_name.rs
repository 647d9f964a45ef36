//! Turns any id into a file name that is safe on every system and cannot meet the name of another id.
//!
//! Pure.

use crate::digest::{hex, sha256};

/// The longest name that [`safe_file_name`] gives, in bytes (all of them ASCII).
pub const MAX_FILE_NAME_BYTES: usize = 120;

const HASH_DIGITS: usize = 16;
const MAX_STEM_BYTES: usize = MAX_FILE_NAME_BYTES - HASH_DIGITS - 1;

/// A file name for an id: one path component, valid on Windows, macOS and Linux.
///
/// Lower-case letters, digits, `-`, `_` and `.` stay. A text that needed any change gets a dash and 16
/// hex digits of its SHA-256, so different ids have different names. Upper-case letters count as a
/// change, because many file systems take `A` and `a` for the same name.
pub fn safe_file_name(text: &str) -> String {
    let stem = safe_stem(text);
    if stem == text && text.len() <= MAX_FILE_NAME_BYTES && !ends_like_a_hash(text) {
        return stem;
    }
    let mut name: String = stem.chars().take(MAX_STEM_BYTES).collect();
    name.push('-');
    name.push_str(&short_hash(text));
    name
}

/// The text with every unsafe character replaced. Equal to the text only if that is safe as it is.
fn safe_stem(text: &str) -> String {
    let mut stem: String = text.chars().map(safe_character).collect();
    // A leading dot hides or climbs, a leading dash reads as an option, Windows drops a trailing dot.
    if stem.starts_with(['.', '-']) {
        stem.replace_range(..1, "_");
    }
    if stem.ends_with('.') {
        stem.pop();
        stem.push('_');
    }
    if stem.is_empty() || is_reserved(&stem) {
        stem.insert(0, '_');
    }
    stem
}

fn safe_character(character: char) -> char {
    match character {
        'a'..='z' | '0'..='9' | '-' | '_' | '.' => character,
        'A'..='Z' => character.to_ascii_lowercase(),
        _ => '_',
    }
}

/// Device names of Windows, which no extension makes safe.
fn is_reserved(stem: &str) -> bool {
    let device = stem.split('.').next().unwrap_or_default();
    match device.strip_prefix("com").or(device.strip_prefix("lpt")) {
        Some(number) => matches!(number.as_bytes(), [b'0'..=b'9']),
        None => matches!(device, "con" | "prn" | "aux" | "nul"),
    }
}

/// Such a text could be the name of another id, so it needs a hash of its own.
fn ends_like_a_hash(text: &str) -> bool {
    text.rsplit_once('-').is_some_and(|(_, tail)| {
        tail.len() == HASH_DIGITS && tail.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    })
}

fn short_hash(text: &str) -> String {
    hex(sha256(text.as_bytes()).into_iter().take(HASH_DIGITS / 2))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn safe_ids_are_their_own_names() {
        for id in ["a", "01ab", "event-7_x.json", "a.b.c", "deadbeef", "com10"] {
            assert_eq!(safe_file_name(id), id);
        }
    }

    #[test]
    fn unsafe_ids_keep_a_readable_stem_and_get_a_hash() {
        let cases = [
            ("", "_-"),
            (".", "_-"),
            ("..", "__-"),
            ("../../etc/passwd", "_._.._etc_passwd-"),
            ("a/b", "a_b-"),
            ("a\\b", "a_b-"),
            ("C:\\x", "c__x-"),
            ("a\0b", "a_b-"),
            ("-rf", "_rf-"),
            (".git", "_git-"),
            ("name.", "name_-"),
            ("name ", "name_-"),
            ("con", "_con-"),
            ("NUL.txt", "_nul.txt-"),
            ("com1", "_com1-"),
            ("LPT9.log", "_lpt9.log-"),
            ("Abc", "abc-"),
            ("tg:dm:42", "tg_dm_42-"),
            ("żółw", "___w-"),
            ("a-0123456789abcdef", "a-0123456789abcdef-"),
        ];
        for (id, start) in cases {
            let name = safe_file_name(id);
            let tail = name.strip_prefix(start);
            assert_eq!(tail.map(str::len), Some(HASH_DIGITS), "{id:?} gave {name}");
        }
    }

    #[test]
    fn names_that_look_alike_stay_apart() {
        let alike = ["a/b", "a_b", "a\\b", "A_b", "a b", "a:b", "A/b"];
        let mut names: Vec<_> = alike.iter().map(|id| safe_file_name(id)).collect();
        // The name made for one id is a different id with a different name.
        names.extend(alike.iter().map(|id| safe_file_name(&safe_file_name(id))));
        names.sort();
        names.dedup();
        // "a_b" is its own name, so naming it twice gives the same name once more.
        assert_eq!(names.len(), 2 * alike.len() - 1);
    }

    #[test]
    fn long_ids_are_cut_and_stay_apart() {
        let left = safe_file_name(&"x".repeat(5_000));
        let right = safe_file_name(&"x".repeat(5_001));
        assert_eq!(left.len(), MAX_FILE_NAME_BYTES);
        assert_ne!(left, right);
        assert_eq!(safe_file_name(&"x".repeat(120)), "x".repeat(120));
    }

    proptest! {
        #[test]
        fn every_name_is_one_safe_component(id in any::<String>()) {
            let name = safe_file_name(&id);
            prop_assert!(!name.is_empty() && name.len() <= MAX_FILE_NAME_BYTES);
            let all_safe = name
                .bytes()
                .all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.'));
            prop_assert!(all_safe);
            prop_assert!(!name.starts_with(['.', '-']) && !name.ends_with('.'));
            prop_assert!(!is_reserved(&name));
        }

        #[test]
        fn different_ids_have_different_names(left in "[aA_./:-]{0,6}", right in "[aA_./:-]{0,6}") {
            prop_assume!(left != right);
            prop_assert_ne!(safe_file_name(&left), safe_file_name(&right));
        }
    }
}
