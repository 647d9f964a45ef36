//! Programs that a pattern may stand for: `/bin/r?`.
//!
//! Pure.

/// Programs whose effect is worth finding behind a pattern.
const CANDIDATES: &[&str] = &[
    "rm", "sh", "bash", "dash", "zsh", "dd", "mv", "cp", "find", "chmod", "chown", "shred", "unlink", "tee", "env",
    "sudo", "xargs", "perl", "python3", "node", "ruby", "curl", "wget", "nc", "cat", "base64", "busybox", "truncate",
    "git", "dispatch", "kill", "crontab",
];

/// The programs of which the last part of a pattern may be the name.
pub(super) fn programs(pattern: &str) -> impl Iterator<Item = &'static str> {
    let name: Vec<char> = pattern.rsplit('/').next().unwrap_or(pattern).chars().collect();
    // `build/*` may be anything, and nobody hides anything behind it.
    let says_something = name.iter().any(|c| c.is_alphanumeric() || matches!(c, '?' | '['));
    CANDIDATES
        .iter()
        .copied()
        .filter(move |program| says_something && matches(&name, &program.chars().collect::<Vec<_>>()))
}

fn matches(pattern: &[char], name: &[char]) -> bool {
    match (pattern.split_first(), name.split_first()) {
        (None, None) => true,
        (Some(('*', rest)), _) => (0..=name.len()).any(|at| matches(rest, name.get(at..).unwrap_or_default())),
        (Some(('?', rest)), Some((_, name))) => matches(rest, name),
        (Some(('[', rest)), Some((c, name))) => {
            let Some(end) = rest.iter().skip(1).position(|c| *c == ']').map(|at| at + 1) else {
                return false;
            };
            let (set, after) = rest.split_at(end);
            is_in_set(set, *c) && matches(after.get(1..).unwrap_or_default(), name)
        }
        (Some((expected, rest)), Some((c, name))) => expected == c && matches(rest, name),
        _ => false,
    }
}

fn is_in_set(set: &[char], c: char) -> bool {
    let (negated, set) = match set.split_first() {
        Some(('!' | '^', rest)) => (true, rest),
        _ => (false, set),
    };
    let range = |window: &[char]| matches!(window, [from, '-', to] if (*from..=*to).contains(&c));
    negated != (set.contains(&c) || set.windows(3).any(range))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_stands_for_the_programs_that_it_matches() {
        let found = |pattern: &str| programs(pattern).collect::<Vec<_>>();
        assert_eq!(found("/bin/r?"), ["rm"]);
        assert_eq!(found("/bin/[r]m"), ["rm"]);
        assert_eq!(found("/usr/bin/[a-c]a[!x]h"), ["bash"]);
        assert_eq!(found("/bin/cur*"), ["curl"]);
        assert!(found("./target/debug/deps/app-*").is_empty());
        assert!(found("./build/*").is_empty());
        assert!(found("./scripts/*.sh").is_empty());
    }
}
