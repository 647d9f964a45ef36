//! Text of people and tools made fit for a line: without control characters, cut between words, split into sentences.

mod sentence;

pub(crate) use sentence::{Sentence, sentences};

const ELLIPSIS: &str = "…";

/// One line of at most `limit_chars`. It is cut between words, so that no half of a secret is left
/// behind that nothing recognises any more; a single word that is too long goes whole.
pub(crate) fn shorten(text: &str, limit_chars: usize) -> String {
    let mut line = String::new();
    let mut used = 0;
    for word in words(text) {
        let needed = word.chars().count() + usize::from(used > 0);
        if used + needed > limit_chars {
            return with_ellipsis(line, used, limit_chars);
        }
        if used > 0 {
            line.push(' ');
        }
        line.push_str(word);
        used += needed;
    }
    line
}

/// The start of a text, cut where a word ends.
pub(crate) fn head(text: &str, limit_bytes: usize) -> &str {
    if text.len() <= limit_bytes {
        return text;
    }
    let start = &text[..text.floor_char_boundary(limit_bytes)];
    start.rfind(char::is_whitespace).map_or("", |end| &start[..end])
}

/// A Markdown code span, whatever the text holds.
pub(crate) fn code_span(text: &str) -> String {
    if text.contains('`') { format!("`` {text} ``") } else { format!("`{text}`") }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|character: char| character.is_whitespace() || character.is_control()).filter(|word| !word.is_empty())
}

fn with_ellipsis(mut line: String, mut used: usize, limit_chars: usize) -> String {
    while used > 0 && used + 2 > limit_chars {
        line.truncate(line.rfind(' ').unwrap_or(0));
        used = line.chars().count();
    }
    match (used, limit_chars) {
        (0, 0) => String::new(),
        (0, _) => ELLIPSIS.to_owned(),
        _ => format!("{line} {ELLIPSIS}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_text_is_cut_between_words() {
        let table = [
            ("fix  the\n\tbug", 20, "fix the bug"),
            ("fix the bug", 11, "fix the bug"),
            ("fix the bug", 10, "fix the …"),
            ("fix the bug", 8, "fix …"),
            ("token sk-0123456789", 12, "token …"),
            ("sk-0123456789", 5, "…"),
            ("\u{1b}[31mred\u{7}", 20, "[31mred"),
            ("abc", 0, ""),
            ("", 5, ""),
        ];
        for (text, limit, expected) in table {
            assert_eq!(shorten(text, limit), expected, "{text:?} {limit}");
        }
    }

    #[test]
    fn the_head_of_a_text_ends_with_a_word() {
        assert_eq!(head("one two", 100), "one two");
        assert_eq!(head("one two", 6), "one");
        assert_eq!(head("éééé", 3), "");
    }

    #[test]
    fn a_code_span_survives_its_content() {
        assert_eq!(code_span("ls"), "`ls`");
        assert_eq!(code_span("echo `date`"), "`` echo `date` ``");
    }

    proptest! {
        #[test]
        fn the_limit_holds_and_no_word_is_split(text in "\\PC{0,60}", limit in 0usize..40) {
            let line = shorten(&text, limit);
            prop_assert!(line.chars().count() <= limit);
            for word in line.split(' ').filter(|word| !word.is_empty() && *word != ELLIPSIS) {
                prop_assert!(text.split_whitespace().any(|whole| whole == word), "{word:?} in {text:?}");
            }
        }
    }
}
