//! Writes text as a YAML scalar that every parser, including those for YAML 1.1, reads as the same text.
//!
//! Pure.

use granit_parser::ScalarStyle;

use super::yaml_tree::has_other_type;

/// Words that YAML 1.1 parsers read as booleans or null.
const OLD_BOOLEANS: [&str; 12] = ["y", "n", "yes", "no", "on", "off", "true", "false", "null", "~", "none", "nil"];

/// The text as a scalar, quoted like the one that it replaces where possible.
pub(super) fn write(text: &str, like: Option<ScalarStyle>) -> String {
    match like {
        Some(ScalarStyle::SingleQuoted) if text.chars().all(is_printable) => format!("'{}'", text.replace('\'', "''")),
        Some(ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted) => quoted(text),
        _ if is_safe_plain(text) => text.to_owned(),
        _ => quoted(text),
    }
}

/// Text in double quotes.
pub(super) fn quoted(text: &str) -> String {
    let mut written = String::with_capacity(text.len() + 2);
    written.push('"');
    for character in text.chars() {
        match character {
            '"' => written.push_str("\\\""),
            '\\' => written.push_str("\\\\"),
            '\n' => written.push_str("\\n"),
            '\r' => written.push_str("\\r"),
            '\t' => written.push_str("\\t"),
            other if is_printable(other) => written.push(other),
            other if u32::from(other) > 0xffff => written.push_str(&format!("\\U{:08x}", u32::from(other))),
            other => written.push_str(&format!("\\u{:04x}", u32::from(other))),
        }
    }
    written.push('"');
    written
}

fn is_printable(character: char) -> bool {
    let breaks = matches!(character, '\u{85}' | '\u{2028}' | '\u{2029}' | '\u{feff}');
    let specials = matches!(character, '\u{fffe}' | '\u{ffff}');
    !character.is_control() && !breaks && !specials
}

/// Whether every parser reads the plain text as the same text, in block and in flow style.
fn is_safe_plain(text: &str) -> bool {
    let starts = text.starts_with(|first: char| first.is_ascii_alphabetic() || matches!(first, '_' | '/'));
    let ends = !text.ends_with([' ', ':']);
    let plain =
        |character: char| is_printable(character) && !matches!(character, ',' | '[' | ']' | '{' | '}' | '"' | '\'');
    let old = OLD_BOOLEANS.iter().any(|word| word.eq_ignore_ascii_case(text));
    let marks = text.contains(": ") || text.contains(" #");
    starts && ends && !old && !marks && !has_other_type(text) && text.chars().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::intent_file::yaml_tree::{YamlValue, read};
    use proptest::prelude::*;

    #[test]
    fn only_harmless_text_goes_without_quotes() {
        for (text, expected) in [
            ("INT-001", "INT-001"),
            ("src/**/*.rs", "src/**/*.rs"),
            ("**", "\"**\""),
            ("no", "\"no\""),
            ("", "\"\""),
            ("2026-01-02", "\"2026-01-02\""),
            ("a: b", "\"a: b\""),
            ("a #b", "\"a #b\""),
            ("src/{a,b}", "\"src/{a,b}\""),
            ("a\nb", "\"a\\nb\""),
            ("say \"x\"", "\"say \\\"x\\\"\""),
            ("\u{1b}", "\"\\u001b\""),
        ] {
            assert_eq!(write(text, None), expected);
        }
        assert_eq!(write("it's", Some(ScalarStyle::SingleQuoted)), "'it''s'");
        assert_eq!(write("plain", Some(ScalarStyle::DoubleQuoted)), "\"plain\"");
    }

    proptest! {
        #[test]
        fn any_text_is_read_back_as_it_is(text in "\\PC*|[ -~\\n\\t]{0,20}|.{0,20}", style in 0..3) {
            let like = match style {
                0 => None,
                1 => Some(ScalarStyle::SingleQuoted),
                _ => Some(ScalarStyle::DoubleQuoted),
            };
            let written = write(&text, like);
            for yaml in [format!("a:\n  - {written} # c\n"), format!("a: [{written}, x]\n")] {
                let root = read(&yaml).unwrap().unwrap();
                let YamlValue::List(items, _) = &root.entry("a").unwrap().1.value else { panic!("{yaml}") };
                prop_assert_eq!(items[0].text(), Some(text.as_str()), "{}", yaml);
            }
        }
    }
}
