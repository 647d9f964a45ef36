//! Compares paths and shell patterns by their parts, in the way that finds a match rather than misses one.
//!
//! Pure.

/// The parts of a path, with `/` or `\` between them; `.` and `..` are gone.
pub(super) fn parts(path: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    for part in path.split(['/', '\\']) {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            _ => parts.push(part),
        }
    }
    parts
}

/// Whether a part stands for other names than its own.
pub(super) fn is_pattern(part: &str) -> bool {
    part.bytes().any(|byte| matches!(byte, b'*' | b'?' | b'['))
}

/// Whether a part of a pattern may stand for a name. Case does not matter, because on many disks it does not.
pub(super) fn may_match(pattern: &str, name: &str) -> bool {
    if !is_pattern(pattern) {
        return pattern.eq_ignore_ascii_case(name);
    }
    // A shell's wildcard at the start does not stand for a leading dot.
    if name.starts_with('.') && !pattern.starts_with('.') {
        return false;
    }
    let pattern: Vec<char> = without_classes(pattern);
    let name: Vec<char> = name.chars().collect();
    wildcard(&pattern, &name)
}

/// The part before the first wildcard, up to its last separator, and the rest.
pub(super) fn split_at_wildcard(path: &str) -> (&str, &str) {
    let wildcard = path.find(['*', '?', '[']).unwrap_or(path.len());
    let end = path.get(..wildcard).and_then(|head| head.rfind('/')).map_or(0, |slash| slash + 1);
    path.split_at(end)
}

/// A class such as `[a-z]` becomes `?`: that matches at least as much.
fn without_classes(pattern: &str) -> Vec<char> {
    let mut out = Vec::new();
    let mut rest = pattern.chars();
    while let Some(character) = rest.next() {
        if character == '[' && rest.as_str().contains(']') {
            rest.by_ref().find(|inner| *inner == ']');
            out.push('?');
        } else {
            out.push(character);
        }
    }
    out
}

/// Linear in pattern times name: goes back only to the last star.
fn wildcard(pattern: &[char], name: &[char]) -> bool {
    let (mut at, mut position) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while let Some(character) = name.get(position) {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, position));
                at += 1;
            }
            Some('?') => {
                at += 1;
                position += 1;
            }
            Some(expected) if expected.eq_ignore_ascii_case(character) => {
                at += 1;
                position += 1;
            }
            _ => match star {
                Some((star_at, from)) => {
                    star = Some((star_at, from + 1));
                    at = star_at + 1;
                    position = from + 1;
                }
                None => return false,
            },
        }
    }
    pattern.iter().skip(at).all(|left| *left == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_find_what_a_shell_would() {
        let table = [
            ("hooks", "hooks", true),
            ("HOOKS", "hooks", true),
            ("h*", "hooks", true),
            ("*", ".ai", false),
            (".*", ".ai", true),
            (".a?", ".ai", true),
            (".[ab]i", ".ai", true),
            ("*.json", "config.json", true),
            ("*x*y*z", "aaxbbycz", true),
            ("*.yaml", "config.json", false),
            ("", "", true),
        ];
        for (pattern, name, expected) in table {
            assert_eq!(may_match(pattern, name), expected, "{pattern} {name}");
        }
        assert_eq!(split_at_wildcard("/a/b*/c"), ("/a/", "b*/c"));
        assert_eq!(split_at_wildcard("/a/b"), ("/a/", "b"));
        assert_eq!(parts("/a/./b/../c\\d"), ["a", "c", "d"]);
    }
}
