//! The one "did you mean" of the product: finds the known name that a misspelt one probably stands for.
//!
//! Pure.

/// Longer names, in characters, are not compared: none of ours is that long.
const MAX_NAME_CHARS: usize = 64;

/// The known name nearest to `typed`, if at most a third of the typed letters has to change.
///
/// Inserting, deleting or replacing a letter and swapping two neighbours count as one change each. Case and the
/// separators `_`, `-` and space do not count. Of two names that are equally near, the alphabetically first wins.
#[must_use]
pub fn nearest<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let typed = folded(typed)?;
    let letters = typed.chars().count();
    let allowed = letters.max(3) / 3;
    known
        .into_iter()
        .filter_map(|name| Some((strsim::osa_distance(&typed, &folded(name)?), name)))
        .filter(|(changes, _)| *changes <= allowed && *changes < letters)
        .min()
        .map(|(_, name)| name)
}

/// The name without what does not count; `None` if it is too long.
fn folded(name: &str) -> Option<String> {
    let is_short = name.chars().nth(MAX_NAME_CHARS).is_none();
    let letters = || name.chars().filter(|letter| !matches!(letter, '_' | '-' | ' ')).flat_map(char::to_lowercase);
    is_short.then(|| letters().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn slips_are_understood_and_other_words_are_not() {
        let settings = ["model", "limits", "log", "max-concurrent", "permissions"].as_slice();
        let hook_keys = ["trigger", "timeoutMs", "pattern", "id", "gitCommit"].as_slice();
        let intent_keys = ["owned_scope", "constraints", "status", "IN_PROGRESS"].as_slice();
        for (typed, known, expected) in [
            ("modle", settings, Some("model")),
            ("modell", settings, Some("model")),
            ("Model", settings, Some("model")),
            ("max_concurrent", settings, Some("max-concurrent")),
            ("maxConcurrent", settings, Some("max-concurrent")),
            ("permisions", settings, Some("permissions")),
            ("lgo", settings, Some("log")),
            ("limit", settings, Some("limits")),
            ("weather", settings, None),
            ("", settings, None),
            ("_", settings, None),
            ("x", settings, None),
            ("triger", hook_keys, Some("trigger")),
            ("tirgger", hook_keys, Some("trigger")),
            ("timeoutms", hook_keys, Some("timeoutMs")),
            ("timeout_ms", hook_keys, Some("timeoutMs")),
            ("ID", hook_keys, Some("id")),
            ("gitcommit", hook_keys, Some("gitCommit")),
            ("command", hook_keys, None),
            ("", hook_keys, None),
            ("x", hook_keys, None),
            ("ownedScope", intent_keys, Some("owned_scope")),
            ("owned_scopes", intent_keys, Some("owned_scope")),
            ("constrains", intent_keys, Some("constraints")),
            ("stauts", intent_keys, Some("status")),
            ("in progress", intent_keys, Some("IN_PROGRESS")),
            ("owner", intent_keys, None),
            ("id", [].as_slice(), None),
        ] {
            assert_eq!(nearest(typed, known.iter().copied()), expected, "{typed:?}");
        }
    }

    #[test]
    fn of_two_names_that_are_equally_near_the_alphabetically_first_is_meant() {
        assert_eq!(nearest("moda", ["modi", "mode"]), Some("mode"));
    }

    #[test]
    fn a_huge_name_is_not_compared() {
        assert_eq!(nearest(&"model".repeat(100_000), ["model"]), None);
        assert_eq!(nearest("model", [&*"model".repeat(100_000), "model"]), Some("model"));
    }

    proptest! {
        #[test]
        fn one_slip_in_a_name_is_understood(name in "[a-z]{4,20}", at in 0_usize..20, letter in "[a-z]", slip in 0..4) {
            let mut typed: Vec<char> = name.chars().collect();
            let at = at % typed.len();
            let letter = letter.chars().next().unwrap_or('a');
            match slip {
                0 => typed.insert(at, letter),
                1 => drop(typed.remove(at)),
                2 => typed[at] = letter,
                _ => typed.swap(at, (at + 1).min(name.len() - 1)),
            }
            let typed: String = typed.into_iter().collect();
            prop_assert_eq!(nearest(&typed, [name.as_str()]), Some(name.as_str()));
        }
    }
}
