//! What a run printed over its attempts, as one text.
//!
//! Pure.

use std::fmt::Write as _;

/// What is kept of all attempts together; the newest lines stay.
const MAX_BYTES: usize = 256 * 1024;
/// Stands where older lines were dropped.
const CUT: &str = "[earlier output dropped]\n";

/// The output of earlier attempts, followed by that of this one.
pub(crate) fn with_attempt(earlier: Option<&str>, attempt: u32, output: &str) -> String {
    let Some(earlier) = earlier.filter(|earlier| !earlier.is_empty()) else { return output.to_owned() };
    let mut text = earlier.to_owned();
    if !text.ends_with('\n') {
        text.push('\n');
    }
    // Writing to a string does not fail.
    let _ = writeln!(text, "--- attempt {attempt} ---");
    text.push_str(output);
    newest(text)
}

/// The newest lines that fit.
fn newest(text: String) -> String {
    if text.len() <= MAX_BYTES {
        return text;
    }
    let mut start = text.len() - (MAX_BYTES - CUT.len());
    while !text.is_char_boundary(start) {
        start += 1;
    }
    let kept = text.get(start..).unwrap_or_default();
    let kept = kept.split_once('\n').map_or(kept, |(_, whole_lines)| whole_lines);
    format!("{CUT}{kept}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_follow_each_other_and_the_first_has_no_heading() {
        assert_eq!(with_attempt(None, 1, "one\n"), "one\n");
        assert_eq!(with_attempt(Some(""), 2, "two"), "two");
        let both = with_attempt(Some("one"), 2, "two\n");
        assert_eq!(both, "one\n--- attempt 2 ---\ntwo\n");
        assert!(with_attempt(Some(&both), 3, "three").starts_with(&both), "who follows it sees only additions");
    }

    #[test]
    fn the_newest_lines_stay_within_the_limit() {
        let long = "ä line that repeats\n".repeat(20_000);
        let text = with_attempt(Some(&long), 2, "the last words");
        assert!(text.len() <= MAX_BYTES, "{}", text.len());
        assert!(text.starts_with(CUT) && text.ends_with("--- attempt 2 ---\nthe last words"));
        assert!(text.lines().nth(1).unwrap().starts_with('ä'), "cut between lines");
    }
}
