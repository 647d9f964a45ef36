//! What somebody who misspelt a word probably meant.

/// Longer words are no misspelling of ours.
const MAX_CHARS: usize = 48;

/// The known word that needs the fewest changes, if these are few for its length.
pub(crate) fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let letters = |text: &str| text.chars().map(|letter| letter.to_ascii_lowercase()).collect::<Vec<_>>();
    if word.len() > MAX_CHARS {
        return None;
    }
    let wanted = letters(word);
    let scored = known.iter().map(|name| (distance(&wanted, &letters(name)), *name));
    let (changes, name) = scored.min_by_key(|(changes, _)| *changes)?;
    (changes * 3 <= name.chars().count().max(3)).then_some(name)
}

/// How many letters are to be put in, taken out, replaced or swapped with their neighbour.
fn distance(from: &[char], to: &[char]) -> usize {
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=to.len()).collect();
    for (row, letter) in from.iter().enumerate() {
        let mut current = vec![row + 1];
        for (column, other) in to.iter().enumerate() {
            let at = |list: &[usize], index: usize| list.get(index).copied().unwrap_or(usize::MAX / 2);
            let replaced = at(&last, column) + usize::from(letter != other);
            let mut best = replaced.min(at(&last, column + 1) + 1).min(at(&current, column) + 1);
            let swapped =
                row > 0 && column > 0 && from.get(row - 1) == Some(other) && to.get(column - 1) == Some(letter);
            if swapped {
                best = best.min(at(&before_last, column - 1) + 1);
            }
            current.push(best);
        }
        before_last = std::mem::replace(&mut last, current);
    }
    last.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_slips_are_understood_and_other_words_are_not() {
        let known = ["trigger", "timeoutMs", "pattern", "id", "gitCommit"];
        for (word, meant) in [
            ("triger", Some("trigger")),
            ("tirgger", Some("trigger")),
            ("timeoutms", Some("timeoutMs")),
            ("timeout_ms", Some("timeoutMs")),
            ("ID", Some("id")),
            ("gitcommit", Some("gitCommit")),
            ("command", None),
            ("", None),
            ("x", None),
        ] {
            assert_eq!(nearest(word, &known), meant, "{word}");
        }
        assert_eq!(nearest(&"x".repeat(1_000_000), &known), None);
        assert_eq!(nearest("id", &[]), None);
    }
}
