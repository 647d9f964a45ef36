//! Finds what someone probably meant by a misspelt name.

/// Names longer than this are not compared.
const MAX_NAME_CHARS: usize = 48;

/// The candidate nearest to `name`, if one is near enough to be a slip of the hand.
pub(crate) fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let typed = folded(name)?;
    let allowed = (typed.len() / 3).max(1);
    candidates
        .into_iter()
        .filter_map(|candidate| Some((distance(&typed, &folded(candidate)?), candidate)))
        .filter(|(distance, _)| *distance <= allowed && *distance < typed.len())
        .min()
        .map(|(_, candidate)| candidate)
}

/// The name with case and the choice of `_` or `-` taken away; `None` when it is too long.
fn folded(name: &str) -> Option<Vec<char>> {
    let chars: Vec<char> = name.chars().take(MAX_NAME_CHARS + 1).collect();
    (chars.len() <= MAX_NAME_CHARS)
        .then(|| chars.into_iter().map(|c| if c == '_' { '-' } else { c.to_ascii_lowercase() }).collect())
}

/// Insertions, deletions, replacements and swaps of neighbours between two names.
fn distance(left: &[char], right: &[char]) -> usize {
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=right.len()).collect();
    for (row, a) in left.iter().enumerate() {
        let mut current = vec![row + 1];
        for (column, b) in right.iter().enumerate() {
            let mut best = (last[column] + usize::from(a != b)).min(last[column + 1] + 1).min(current[column] + 1);
            if row > 0 && column > 0 && *a == right[column - 1] && left[row - 1] == *b {
                best = best.min(before_last[column - 1] + 1);
            }
            current.push(best);
        }
        before_last = std::mem::replace(&mut last, current);
    }
    last[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn slips_are_understood_and_other_words_are_not() {
        let known = ["model", "limits", "log", "max-concurrent", "permissions"];
        for (typed, expected) in [
            ("modle", Some("model")),
            ("modell", Some("model")),
            ("Model", Some("model")),
            ("max_concurrent", Some("max-concurrent")),
            ("permisions", Some("permissions")),
            ("lgo", Some("log")),
            ("limit", Some("limits")),
            ("weather", None),
            ("", None),
            ("x", None),
        ] {
            assert_eq!(nearest(typed, known), expected, "{typed:?}");
        }
    }

    #[test]
    fn a_huge_name_is_not_compared() {
        assert_eq!(nearest(&"model".repeat(100_000), ["model"]), None);
    }

    proptest! {
        #[test]
        fn distance_is_a_distance(a in "[abc]{0,6}", b in "[abc]{0,6}") {
            let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
            let there = distance(&a, &b);
            prop_assert_eq!(there, distance(&b, &a));
            prop_assert_eq!(there == 0, a == b);
            prop_assert!(there >= a.len().abs_diff(b.len()) && there <= a.len().max(b.len()));
        }
    }
}
