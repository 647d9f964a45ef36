//! Patterns of paths below the workspace.
//!
//! Pure.

use dispatch_glob::Glob;

use super::FollowupRuleProblem;

/// Characters that mean something in a pattern.
const SPECIAL: &str = "*?[]{}()!+@\\#|";

/// Compiles a pattern.
pub(crate) fn compile_path(pattern: &str) -> Result<Glob, FollowupRuleProblem> {
    Glob::new(pattern).map_err(|source| FollowupRuleProblem::Path { pattern: pattern.to_owned(), source })
}

/// The pattern that matches this path and no other.
pub(crate) fn literal_pattern(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for character in path.chars() {
        if SPECIAL.contains(character) {
            out.push('\\');
        }
        out.push(character);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_literal_pattern_matches_its_path(
            path in "[a-z!#@+(][a-z,{}()*?!+@#|\\[\\]^-]{0,8}(/[a-z\\[\\]{}*?.]{1,8}[a-z]){0,3}",
            other in "[a-z]{1,6}",
        ) {
            let glob = compile_path(&literal_pattern(&path)).expect("compiles");
            prop_assert!(glob.is_match(&path));
            prop_assert_eq!(glob.is_match(&other), other == path);
        }
    }
}
