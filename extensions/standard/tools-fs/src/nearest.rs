//! Shows the lines of a file that come nearest to a text that was not found in it.
//!
//! Pure.

use std::collections::BTreeSet;

/// Lines shown before and behind a near line.
const AROUND: usize = 2;
const MAX_PLACES: usize = 3;
/// Lines of the file that are compared; a longer file is compared up to here.
const MAX_COMPARED_LINES: usize = 20_000;
const MAX_SHOWN_CHARACTERS: usize = 200;
/// Below this share of common letter pairs, lines have nothing to do with each other.
const LEAST_LIKENESS: f64 = 0.5;

/// Why the text may not have been found, and where something like it stands.
pub(crate) fn hint(file: &str, wanted: &str) -> String {
    let lines: Vec<&str> = file.lines().take(MAX_COMPARED_LINES).collect();
    if let Some(line) = same_but_for_space(&lines, wanted) {
        return format!("The same text with other white space is here:\n{}", excerpt(&lines, line));
    }
    if wanted.lines().all(has_line_number) {
        return "The text starts with line numbers as read_file shows them; they are not part of the file.".to_owned();
    }
    let places = near_lines(&lines, wanted);
    if places.is_empty() {
        return "Nothing like it is in the file. Read the file again.".to_owned();
    }
    let shown: Vec<String> = places.iter().map(|line| excerpt(&lines, *line)).collect();
    format!("The nearest lines are:\n{}", shown.join("...\n"))
}

/// Some lines around one, with their numbers.
pub(crate) fn excerpt(lines: &[&str], line: usize) -> String {
    let start = line.saturating_sub(AROUND);
    let shown = lines.iter().enumerate().skip(start).take(line - start + AROUND + 1);
    shown.map(|(index, text)| format!("{:>6}\t{}\n", index + 1, cut(text))).collect()
}

fn cut(line: &str) -> String {
    line.chars().take(MAX_SHOWN_CHARACTERS).collect()
}

/// The first line of the place that equals the text once white space at both ends of lines is left out.
fn same_but_for_space(lines: &[&str], wanted: &str) -> Option<usize> {
    let wanted: Vec<&str> = wanted.lines().map(str::trim).collect();
    if wanted.iter().all(|line| line.is_empty()) {
        return None;
    }
    let matches = |window: &[&str]| window.iter().map(|line| line.trim()).eq(wanted.iter().copied());
    lines.windows(wanted.len()).position(matches)
}

fn has_line_number(line: &str) -> bool {
    let rest = line.trim_start().trim_start_matches(|character: char| character.is_ascii_digit());
    rest.len() < line.trim_start().len() && rest.starts_with('\t')
}

fn near_lines(lines: &[&str], wanted: &str) -> Vec<usize> {
    let Some(first) = wanted.lines().max_by_key(|line| line.trim().len()).map(pairs) else {
        return Vec::new();
    };
    let mut scored: Vec<(f64, usize)> = lines
        .iter()
        .enumerate()
        .map(|(index, line)| (likeness(&first, &pairs(line)), index))
        .filter(|(score, _)| *score >= LEAST_LIKENESS)
        .collect();
    scored.sort_by(|left, right| right.0.total_cmp(&left.0).then(left.1.cmp(&right.1)));
    scored.truncate(MAX_PLACES);
    scored.into_iter().map(|(_, index)| index).collect()
}

fn pairs(line: &str) -> BTreeSet<(char, char)> {
    let letters: Vec<char> = line.chars().filter(|letter| !letter.is_whitespace()).take(MAX_SHOWN_CHARACTERS).collect();
    letters.iter().copied().zip(letters.iter().copied().skip(1)).collect()
}

fn likeness(one: &BTreeSet<(char, char)>, other: &BTreeSet<(char, char)>) -> f64 {
    let all = one.len() + other.len();
    let common = one.intersection(other).count();
    #[allow(clippy::cast_precision_loss, reason = "both are at most a few hundred")]
    if all == 0 { 0.0 } else { 2.0 * common as f64 / all as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "fn main() {\n    let total = 1;\n    print(total);\n}\n";

    #[test]
    fn the_likely_mistake_is_named() {
        assert!(hint(FILE, "let total = 1;\nprint(total);").contains("other white space"));
        assert!(hint(FILE, "     2\t    let totals = 9;").contains("line numbers"));
        let near = hint(FILE, "    let totals = 1;");
        assert!(near.contains("     2\t    let total = 1;"), "{near}");
        assert!(hint(FILE, "zzz qqq").contains("Nothing like it"));
        assert!(hint("", "x").contains("Nothing like it"));
        assert!(hint(FILE, "\n").contains("Nothing like it"));
    }
}
