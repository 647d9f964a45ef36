//! What somebody who wrote an unknown word probably meant.

/// More differences than this are no slip.
const MAX_DISTANCE: usize = 2;

/// The nearest of some words, if one is near.
pub(super) fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let folded = fold(word);
    let distances = known.iter().map(|known| (distance(&folded, &fold(known)), *known));
    distances.filter(|(far, known)| *far <= MAX_DISTANCE.min(known.len() / 3)).min().map(|(_, known)| known)
}

/// Case and the kind of the gap between words do not count as differences.
fn fold(word: &str) -> Vec<char> {
    word.chars().take(64).filter(|letter| !matches!(letter, '_' | '-' | ' ')).flat_map(char::to_lowercase).collect()
}

fn distance(one: &[char], other: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (index, letter) in one.iter().enumerate() {
        let mut diagonal = index;
        let mut left = index + 1;
        for (cell, against) in row.iter_mut().skip(1).zip(other) {
            let above = *cell;
            left = (diagonal + usize::from(letter != against)).min(above + 1).min(left + 1);
            (diagonal, *cell) = (above, left);
        }
        if let Some(first) = row.first_mut() {
            *first = index + 1;
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_understood_and_other_words_are_not() {
        let known = ["owned_scope", "constraints", "status", "IN_PROGRESS"];
        for (word, expected) in [
            ("ownedScope", Some("owned_scope")),
            ("owned_scopes", Some("owned_scope")),
            ("constrains", Some("constraints")),
            ("stauts", Some("status")),
            ("in progress", Some("IN_PROGRESS")),
            ("owner", None),
            ("", None),
        ] {
            assert_eq!(nearest(word, &known), expected, "{word}");
        }
    }
}
