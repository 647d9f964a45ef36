//! Text of agents and tools made fit for a terminal: one line, bounded, with nothing that the terminal would obey.
//!
//! Pure.

/// The text on one line of at most `max_chars` characters.
pub(crate) fn one_line(text: &str, max_chars: usize) -> String {
    let mut line = String::new();
    let mut count = 0;
    let mut gap = false;
    for character in text.chars() {
        if character.is_whitespace() {
            gap = !line.is_empty();
            continue;
        }
        if count + usize::from(gap) >= max_chars {
            line.push('…');
            return line;
        }
        if std::mem::take(&mut gap) {
            line.push(' ');
            count += 1;
        }
        line.push(visible(character));
        count += 1;
    }
    line
}

/// The text with its lines, each free of what a terminal would obey.
pub(crate) fn lines(text: &str, max_lines: usize) -> Vec<String> {
    let kept = |character: char| if character == '\t' { ' ' } else { visible(character) };
    text.lines().take(max_lines).map(|line| line.trim_end().chars().map(kept).collect()).collect()
}

/// The text as it is, free of what a terminal would obey but line ends and tabs.
pub(crate) fn visible_text(text: &str) -> String {
    let kept = |character: char| if matches!(character, '\n' | '\t') { character } else { visible(character) };
    text.chars().map(kept).collect()
}

/// Control characters and those that turn the direction of text around become a mark.
fn visible(character: char) -> char {
    let turns = matches!(character, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    if character.is_control() || turns { '\u{fffd}' } else { character }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_short_and_harmless() {
        for (text, expected) in [
            ("", ""),
            ("  a \n\t b  ", "a b"),
            ("\u{1b}[2Jrm", "\u{fffd}[2Jrm"),
            ("abc\u{202e}fdp", "abc\u{fffd}fdp"),
            ("0123456789", "0123456789"),
            ("0123456789a", "0123456789…"),
            ("01234567 9a", "01234567 9…"),
            ("012345678 9", "012345678…"),
            ("ä ö ü ß é", "ä ö ü ß é"),
        ] {
            assert_eq!(one_line(text, 10), expected, "{text:?}");
        }
    }

    #[test]
    fn lines_stay_lines() {
        assert_eq!(lines("a\tb\r\nc\u{7}\nd", 2), ["a b", "c\u{fffd}"]);
    }
}
