//! `${x#pattern}`, `${x%pattern}` and their greedy forms: what is left of a value.
//!
//! Pure.

/// A longer value is not followed: each star of a pattern multiplies the work by its length.
const MAX_VALUE_BYTES: usize = 1024;
const MAX_STARS: usize = 1;

/// From which end of a value a pattern is cut.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum PatternEnd {
    Front,
    Back,
}

/// A value without the shortest or longest part at one end that a pattern matches; nothing if that is too much work.
pub(super) fn without_match(held: &str, end: PatternEnd, longest: bool, pattern: &str) -> Option<String> {
    if held.len() > MAX_VALUE_BYTES || pattern.matches('*').count() > MAX_STARS {
        return None;
    }
    let cuts = held.char_indices().map(|(at, _)| at).chain([held.len()]);
    let matching = cuts.filter_map(|at| {
        let (front, back) = held.split_at_checked(at)?;
        let (part, rest) = if end == PatternEnd::Front { (front, back) } else { (back, front) };
        glob_matches(pattern, part).then(|| rest.to_owned())
    });
    let rest = if longest { matching.min_by_key(String::len) } else { matching.max_by_key(String::len) };
    Some(rest.unwrap_or_else(|| held.to_owned()))
}

/// Whether a pattern of the shell matches a text as a whole: `*`, `?` and sets in brackets.
fn glob_matches(pattern: &str, text: &str) -> bool {
    let Some(first) = pattern.chars().next() else {
        return text.is_empty();
    };
    let rest = &pattern[first.len_utf8()..];
    let mut letters = text.chars();
    match first {
        '*' => text.char_indices().map(|(at, _)| at).chain([text.len()]).any(|at| glob_matches(rest, &text[at..])),
        '?' => letters.next().is_some() && glob_matches(rest, letters.as_str()),
        '[' => match rest.split_once(']') {
            Some((set, rest)) => letters.next().is_some_and(|c| in_set(set, c)) && glob_matches(rest, letters.as_str()),
            None => letters.next() == Some('[') && glob_matches(rest, letters.as_str()),
        },
        _ => letters.next() == Some(first) && glob_matches(rest, letters.as_str()),
    }
}

/// The pattern and the text of `${x//PATTERN/TEXT}`: a slash in brackets or behind a backslash belongs to the pattern.
pub(super) fn replacement(rest: &str) -> (&str, &str) {
    let (mut escaped, mut in_brackets) = (false, false);
    for (at, c) in rest.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '[' => in_brackets = true,
            ']' => in_brackets = false,
            '/' if !in_brackets => return (&rest[..at], &rest[at + 1..]),
            _ => {}
        }
    }
    (rest, "")
}

/// A value with each letter of a set replaced; nothing if the pattern is more than a set.
pub(super) fn with_letters_replaced(held: &str, pattern: &str, to: &str) -> Option<String> {
    let set = pattern.strip_prefix('[')?.strip_suffix(']')?.replace('\\', "");
    let letters = held.chars();
    let changed = |c: char| if in_set(&set, c) { to.to_owned() } else { c.to_string() };
    (held.len() <= MAX_VALUE_BYTES && !set.contains(['[', ']'])).then(|| letters.map(changed).collect())
}

fn in_set(set: &str, c: char) -> bool {
    let (negated, set) = match set.strip_prefix(['!', '^']) {
        Some(set) => (true, set),
        None => (false, set),
    };
    let letters: Vec<char> = set.chars().collect();
    let range = letters.windows(3).any(|part| part[1] == '-' && (part[0]..=part[2]).contains(&c));
    (range || letters.contains(&c)) != negated
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_cut_from_both_ends() {
        use PatternEnd::{Back, Front};
        for (held, end, longest, pattern, expected) in [
            ("/home/dev", Back, true, "[a-z]*", Some("/")),
            ("/home/dev", Back, false, "[a-z]*", Some("/home/de")),
            ("/home/dev", Front, false, "/*", Some("home/dev")),
            ("/home/dev", Front, true, "*/", Some("dev")),
            ("a.tar.gz", Back, false, ".??", Some("a.tar")),
            ("a.tar.gz", Back, false, ".zip", Some("a.tar.gz")),
            ("xyz", Front, false, "[!a-c]", Some("yz")),
            ("[x", Front, false, "[x", Some("")),
            ("äöü", Back, false, "?", Some("äö")),
            ("aaa", Back, true, "*a*", None),
        ] {
            assert_eq!(without_match(held, end, longest, pattern).as_deref(), expected, "{held} {pattern}");
        }
    }

    #[test]
    fn a_set_is_replaced_letter_by_letter() {
        assert_eq!(replacement("[!/]/x"), ("[!/]", "x"));
        assert_eq!(replacement(r"a\/b/c"), (r"a\/b", "c"));
        assert_eq!(replacement("a"), ("a", ""));
        assert_eq!(with_letters_replaced("/home/dev", r"[!\/]", "").as_deref(), Some("//"));
        assert_eq!(with_letters_replaced("abc", "[a-b]", "x").as_deref(), Some("xxc"));
        assert_eq!(with_letters_replaced("abc", "[a]*", ""), None);
    }
}
