//! Whether a path belongs to an intent.

use dispatch_glob::Glob;

use crate::intent::IntentSpec;

/// Stands for whatever may be put into a folder.
const ANY_NAME: &str = "x";

/// What a part of a pattern must not hold to stand for itself.
const SPECIAL: [char; 14] = ['*', '?', '[', ']', '{', '}', '(', ')', '!', '+', '@', '\\', '|', ','];

/// What a call may change: one file, or a folder with what is in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// One file.
    File,
    /// A folder, or a file that is put into it under a name that is not known.
    Folder,
}

/// Whether an intent owns a path (from the workspace's root, `/` between the parts). A pattern that
/// cannot be read owns nothing.
#[must_use]
pub fn owns(intent: &IntentSpec, path: &str, extent: Extent) -> bool {
    let inner = (extent == Extent::Folder).then(|| match path {
        "." => ANY_NAME.to_owned(),
        _ => format!("{path}/{ANY_NAME}"),
    });
    // One pattern after the other: most calls are settled by the first, and reading a pattern costs more than using it.
    intent.owned_scope.iter().filter(|pattern| may_match(pattern, inner.as_deref().unwrap_or(path))).any(|pattern| {
        Glob::new(pattern)
            .is_ok_and(|glob| glob.is_match(path) || inner.as_deref().is_some_and(|inner| glob.is_match(inner)))
    })
}

/// Whether the parts of a pattern that stand for themselves are all in the path. Reading a pattern costs
/// a hundred times as much, so most are told apart by this alone.
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
pub fn owners<'a>(intents: &'a [IntentSpec], path: &str, extent: Extent, limit: usize) -> Vec<&'a IntentSpec> {
    let open = intents.iter().filter(|intent| intent.status.is_open());
    open.filter(|intent| owns(intent, path, extent)).take(limit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_left_out_unread_would_not_have_matched(
            pattern in "[ab.*?!+@(){},/\\\\\\[\\]|#-]{0,16}",
            path in "[ab.]{1,3}(/[ab.x]{1,3}){0,4}",
        ) {
            let matches = Glob::new(&pattern).is_ok_and(|glob| glob.is_match(&path));
            prop_assert!(!matches || may_match(&pattern, &path), "{} {}", pattern, path);
        }
    }
}
