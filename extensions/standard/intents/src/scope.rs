//! Whether a path belongs to an intent.

use dispatch_glob::Glob;

use crate::intent::IntentSpec;

/// Stands for whatever may be put into a folder.
const ANY_NAME: &str = "x";

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
    let inner = (extent == Extent::Folder).then(|| format!("{path}/{ANY_NAME}"));
    // One pattern after the other: most calls are settled by the first, and reading a pattern costs more than using it.
    intent.owned_scope.iter().any(|pattern| {
        Glob::new(pattern)
            .is_ok_and(|glob| glob.is_match(path) || inner.as_deref().is_some_and(|inner| glob.is_match(inner)))
    })
}

/// The open intents that own a path, at most `limit`.
#[must_use]
pub fn owners<'a>(intents: &'a [IntentSpec], path: &str, extent: Extent, limit: usize) -> Vec<&'a IntentSpec> {
    let open = intents.iter().filter(|intent| intent.status.is_open());
    open.filter(|intent| owns(intent, path, extent)).take(limit).collect()
}
