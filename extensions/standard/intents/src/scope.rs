//! Decides whether an intent owns a path.
//!
//! Pure.

use dispatch_glob::Glob;

use crate::intent::IntentSpec;

/// A placeholder for an unknown file in a folder.
const ANY_NAME: &str = "x";

/// A part of a pattern without these characters matches only itself.
const SPECIAL: [char; 14] = ['*', '?', '[', ']', '{', '}', '(', ')', '!', '+', '@', '\\', '|', ','];

/// Whether a target is one file or a folder with its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TargetExtent {
    /// One file.
    File,
    /// A folder, or a file with an unknown name in it.
    Folder,
}

/// Whether an intent owns a path (from the workspace's root, with `/` as separator): a glob matches it and no `!` glob
/// excludes it. With `!` globs alone it owns all other files. An invalid glob owns nothing.
#[must_use]
pub(crate) fn owns(intent: &IntentSpec, path: &str, extent: TargetExtent) -> bool {
    let inner = (extent == TargetExtent::Folder).then(|| match path {
        "." => ANY_NAME.to_owned(),
        _ => format!("{path}/{ANY_NAME}"),
    });
    let matches = |pattern: &str| {
        may_match(pattern, inner.as_deref().unwrap_or(path))
            && Glob::new(pattern)
                .is_ok_and(|glob| glob.is_match(path) || inner.as_deref().is_some_and(|inner| glob.is_match(inner)))
    };
    let globs = || intent.owned_scope.iter().map(String::as_str);
    let mut included = globs().filter(|glob| exclusion(glob).is_none()).peekable();
    // One glob after the other: the first decides most calls, and parsing a glob costs more than matching it.
    let is_included = if included.peek().is_none() { globs().next().is_some() } else { included.any(&matches) };
    let is_inside = |excluded: &str| extent == TargetExtent::Folder && starts_below(excluded, path);
    is_included && !globs().filter_map(exclusion).any(|excluded| matches(excluded) || is_inside(excluded))
}

/// The excluded glob of a `!` glob; an extended glob `!(...)` is none.
#[must_use]
pub(crate) fn exclusion(pattern: &str) -> Option<&str> {
    pattern.strip_prefix('!').filter(|rest| !rest.starts_with('('))
}

/// Whether a glob can only match below a folder, or may match anywhere.
fn starts_below(pattern: &str, folder: &str) -> bool {
    let fixed: Vec<&str> = pattern.split('/').take_while(|part| !part.contains(SPECIAL)).collect();
    let folder: Vec<&str> = folder.split('/').filter(|part| *part != ".").collect();
    fixed.iter().zip(&folder).all(|(one, other)| one == other)
}

/// Whether the path contains all literal parts of a pattern. Parsing a pattern costs a hundred times as much, so this
/// check excludes most of them first.
fn may_match(pattern: &str, path: &str) -> bool {
    if pattern.starts_with(['!', '#']) {
        return true;
    }
    let mut depth = 0_usize;
    pattern.split('/').all(|part| {
        let outside = depth == 0;
        for byte in part.bytes() {
            match byte {
                b'{' | b'(' => depth += 1,
                b'}' | b')' => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
        let plain = outside && !part.is_empty() && part != "." && part != ".." && !part.contains(SPECIAL);
        !plain || path.split('/').any(|found| found == part)
    })
}

/// The open intents that own a path, at most `limit`.
#[must_use]
pub(crate) fn owners<'a>(
    intents: &'a [IntentSpec],
    path: &str,
    extent: TargetExtent,
    limit: usize,
) -> Vec<&'a IntentSpec> {
    let open = intents.iter().filter(|intent| intent.status.is_open());
    open.filter(|intent| owns(intent, path, extent)).take(limit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_excluded_glob_takes_files_away() {
        let check = |globs: &[&str], path: &str, extent, expected: bool| {
            let mut intent = crate::testing::intent("INT-001");
            intent.owned_scope = globs.iter().map(|glob| (*glob).to_owned()).collect();
            assert_eq!(owns(&intent, path, extent), expected, "{globs:?} {path}");
        };
        let globs = ["src/**", "!src/web/**"];
        check(&globs, "src/api/a.ts", TargetExtent::File, true);
        check(&globs, "src/web/page.ts", TargetExtent::File, false);
        check(&globs, "docs/a.md", TargetExtent::File, false);
        check(&globs, "src/api", TargetExtent::Folder, true);
        check(&globs, "src", TargetExtent::Folder, false);
        check(&globs, "src/web", TargetExtent::Folder, false);
        check(&["!src/web/**", "src/**"], "src/web/page.ts", TargetExtent::File, false);
        check(&["!src/web/**"], "docs/a.md", TargetExtent::File, true);
        check(&["!src/web/**"], "src/web/a", TargetExtent::File, false);
        check(&["src/!(web)/**"], "src/api/a.ts", TargetExtent::File, true);
        check(&[], "src/a", TargetExtent::File, false);
    }

    proptest! {
        #[test]
        fn a_pattern_that_is_excluded_early_would_not_have_matched(
            pattern in "[ab.*?!+@(){},/\\\\\\[\\]|#-]{0,16}",
            path in "[ab.]{1,3}(/[ab.x]{1,3}){0,4}",
        ) {
            let matches = Glob::new(&pattern).is_ok_and(|glob| glob.is_match(&path));
            prop_assert!(!matches || may_match(&pattern, &path), "{} {}", pattern, path);
        }
    }
}
