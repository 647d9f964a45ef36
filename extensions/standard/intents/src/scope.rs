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

/// Whether an intent owns a path (from the workspace's root, with `/` as separator). An invalid pattern owns nothing.
#[must_use]
pub(crate) fn owns(intent: &IntentSpec, path: &str, extent: TargetExtent) -> bool {
    let inner = (extent == TargetExtent::Folder).then(|| match path {
        "." => ANY_NAME.to_owned(),
        _ => format!("{path}/{ANY_NAME}"),
    });
    // One pattern after the other: the first decides most calls, and parsing a pattern costs more than matching it.
    intent.owned_scope.iter().filter(|pattern| may_match(pattern, inner.as_deref().unwrap_or(path))).any(|pattern| {
        Glob::new(pattern)
            .is_ok_and(|glob| glob.is_match(path) || inner.as_deref().is_some_and(|inner| glob.is_match(inner)))
    })
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
