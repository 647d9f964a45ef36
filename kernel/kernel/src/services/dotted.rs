//! How a place in a tree of values is spelled: `model.name`, `permissions.rules[2].target`.
//!
//! A key of ASCII letters, digits, `-` and `_` stands as it is. Any other key, the empty one too,
//! is written as a JSON string: `extensions.mail."a.b"`. TOML spells such keys the same way.

use serde_json::Value;

/// One step down a tree of values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathStep {
    /// Into an object.
    Key(String),
    /// Into a list, from 0.
    Index(usize),
}

/// The dotted name of a place; empty for the root.
pub fn dotted(steps: &[PathStep]) -> String {
    let mut name = String::new();
    for step in steps {
        match step {
            PathStep::Key(key) => push_key(&mut name, key),
            PathStep::Index(index) => name.push_str(&format!("[{index}]")),
        }
    }
    name
}

/// Appends one key to a dotted name.
pub fn push_key(name: &mut String, key: &str) {
    if !name.is_empty() {
        name.push('.');
    }
    if is_bare(key) {
        name.push_str(key);
    } else {
        name.push_str(&Value::from(key).to_string());
    }
}

/// The keys of a dotted name without list positions; `None` when it is not one.
pub fn keys(name: &str) -> Option<Vec<String>> {
    let mut keys = Vec::new();
    let mut rest = name;
    loop {
        let (key, after) = first_key(rest)?;
        keys.push(key);
        match after.strip_prefix('.') {
            Some(next) => rest = next,
            None if after.is_empty() => return Some(keys),
            None => return None,
        }
    }
}

/// Splits off the first key; the rest starts with whatever ended it.
fn first_key(text: &str) -> Option<(String, &str)> {
    if text.starts_with('"') {
        let end = quoted_len(text)?;
        let (quoted, after) = text.split_at_checked(end)?;
        return Some((serde_json::from_str(quoted).ok()?, after));
    }
    let end = text.find(|c| !is_bare_char(c)).unwrap_or(text.len());
    let (key, after) = text.split_at_checked(end)?;
    (!key.is_empty()).then(|| (key.to_owned(), after))
}

/// The bytes of the JSON string that `text` begins with, quotes included.
fn quoted_len(text: &str) -> Option<usize> {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return Some(at + 1),
            _ => {}
        }
    }
    None
}

fn is_bare(key: &str) -> bool {
    !key.is_empty() && key.chars().all(is_bare_char)
}

fn is_bare_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '-' || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn key(text: &str) -> PathStep {
        PathStep::Key(text.to_owned())
    }

    #[test]
    fn places_are_spelled_like_toml() {
        let table: &[(&[PathStep], &str)] = &[
            (&[], ""),
            (&[key("model")], "model"),
            (&[key("a"), key("b"), PathStep::Index(2)], "a.b[2]"),
            (&[PathStep::Index(0), key("x")], "[0].x"),
            (&[key("a.b"), key("c")], "\"a.b\".c"),
            (&[key("")], "\"\""),
            (&[key("say \"hi\"\n")], r#""say \"hi\"\n""#),
            (&[key("ключ")], "\"ключ\""),
        ];
        for (steps, expected) in table {
            assert_eq!(dotted(steps), *expected);
        }
    }

    #[test]
    fn what_is_not_a_name_is_refused() {
        for text in ["", ".", "a.", ".a", "a..b", "a b", "a[0]", "\"a", "\"a\"b", "\"\\q\"", "ключ", "a=b"] {
            assert_eq!(keys(text), None, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn every_name_reads_back(path in proptest::collection::vec(".{0,6}", 1..5)) {
            let steps: Vec<PathStep> = path.iter().map(|text| key(text)).collect();
            prop_assert_eq!(keys(&dotted(&steps)), Some(path));
        }

        #[test]
        fn any_text_is_read_or_refused(text in ".{0,40}") {
            let _ = keys(&text);
        }

        #[test]
        fn names_tell_places_apart(
            left in proptest::collection::vec("[a.\"\\\\]{0,3}", 1..4),
            right in proptest::collection::vec("[a.\"\\\\]{0,3}", 1..4),
        ) {
            let spell = |path: &[String]| dotted(&path.iter().map(|text| key(text)).collect::<Vec<_>>());
            prop_assert_eq!(spell(&left) == spell(&right), left == right);
        }
    }
}
